"""The document's functional interface: effects, reconciliation and many scripts, on connections of their own."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from leasehold import Leasehold
from leasehold.errors import Misuse
from leasehold.pipelines.download.idempotency import job_key, op_key
from leasehold.pipelines.download.job_effects import get_effect_result, run_effect
from leasehold.pipelines.download.job_leasing import lease_next_job, release_lease, renew_lease
from leasehold.pipelines.download.job_reconciler import cleanup_stale_leases, cleanup_stale_ops, reconcile_jobs
from leasehold.pipelines.download.job_state import advance_state, get_current_state
from tests.pipelines.download.script.scripts import URL, clock_of, go, lease, plan, table
from tests.support.wait import until


def finalize(conn, number, path, sha256, upto="FINALIZED"):
    job = plan(conn, number)
    lease(conn)
    go(conn, job)
    outputs = {"code": "OK", "final_path": str(path), "sha256": sha256}
    run_effect(
        conn, job_id=job, kind="FINALIZE", opkey=op_key("FINALIZE", job, sha256=sha256), effect_fn=lambda: outputs
    )
    if upto == "INDEXED":
        advance_state(conn, job_id=job, to_state="INDEXED", allowed_from=("FINALIZED",))
    release_lease(conn, job_id=job, owner="worker-1")
    return job


def test_an_effect_runs_once_and_its_result_is_whole(conn, connect):
    job, calls = plan(conn), []

    def act():
        calls.append(1)
        return {"code": "OK", "text": "ä" * 60_000, "status": 200}

    key = op_key("HEAD", job, url=URL)
    assert get_effect_result(conn, opkey=key) is None
    first = run_effect(conn, job_id=job, kind="HEAD", opkey=key, effect_fn=act)
    assert first == run_effect(connect(), job_id=job, kind="HEAD", opkey=key, effect_fn=act)
    assert first == get_effect_result(conn, opkey=key) == act()
    assert len(calls) == 2
    ((op, owner, kind, code, result),) = table(
        conn, "artifact_ops", "op_key, job_id, op_type, result_code, result_json"
    )
    assert (op, owner, kind, code, json.loads(result)) == (key, job, "HEAD", "OK", first)


def test_an_effect_that_raised_is_no_result_and_is_tried_again(conn):
    job = plan(conn)
    lease(conn)

    def act():
        raise ConnectionError("no line")

    for _ in range(2):
        with pytest.raises(ConnectionError, match="no line"):
            run_effect(conn, job_id=job, kind="HEAD", opkey="k", effect_fn=act)
        assert get_effect_result(conn, opkey="k") is None
    ((code, finished),) = table(conn, "artifact_ops", "result_code, finished_at IS NOT NULL")
    assert (code != "OK", bool(finished)) == (True, True)
    assert run_effect(conn, job_id=job, kind="HEAD", opkey="k", effect_fn=lambda: {"n": 1}) == {"n": 1}


def test_stale_leases_are_taken_back_and_live_ones_are_not(conn):
    clock = clock_of(conn)
    plan(conn)
    plan(conn, 2)
    lease(conn, "dead", ttl_s=10)
    lease(conn, "alive", ttl_s=1_000)
    assert cleanup_stale_leases(conn) == 0
    clock.advance(11)
    assert cleanup_stale_leases(conn) == 1
    assert [row[0] for row in table(conn, "artifact_jobs", "lease_owner")] == [None, "alive"]


def test_an_operation_in_flight_for_long_is_marked_unless_its_lease_stands(conn):
    clock = clock_of(conn)
    jobs = [plan(conn, number) for number in (1, 2)]

    class Killed(BaseException):
        """The end of the script, as far as the ledger can show it."""

    def die():
        raise Killed

    for owner, ttl, job in (("dead", 10, jobs[0]), ("alive", 10_000, jobs[1])):
        lease(conn, owner, ttl_s=ttl)
        with pytest.raises(Killed):
            run_effect(conn, job_id=job, kind="STREAM", opkey=f"op {job}", effect_fn=die)
    clock.advance(500)
    assert cleanup_stale_ops(conn) == 0
    clock.advance(200)
    assert [cleanup_stale_ops(conn), cleanup_stale_ops(conn)] == [1, 0]
    assert table(conn, "artifact_ops", "op_key, result_code, finished_at") == [
        (f"op {jobs[0]}", "ABANDONED", None),
        (f"op {jobs[1]}", None, None),
    ]
    lease(conn, "next")
    assert run_effect(conn, job_id=jobs[0], kind="STREAM", opkey=f"op {jobs[0]}", effect_fn=lambda: {"n": 1}) == {
        "n": 1
    }
    assert table(conn, "artifact_ops", "result_code")[0] == ("OK",)


def test_stale_parts_are_removed_and_a_live_slow_downloads_is_not(conn, tmp_path):
    slow, gone = plan(conn), plan(conn, 2)
    lease(conn, ttl_s=1_000)
    staging = tmp_path / "staging" / "deep"
    staging.mkdir(parents=True)
    keys = {name: job_key(f"work-{number}", "a", URL) for number, name in ((1, "slow"), (2, "gone"))}
    old = [
        f"{keys['slow']}.part",
        f"job-{slow}.part",
        f"{keys['gone']}.part",
        f"job-{gone}.part",
        "other.part",
        "other.txt",
    ]
    for name in old:
        (staging / name).write_bytes(b"x")
        os.utime(staging / name, (1, 1))
    (staging / "new.part").write_bytes(b"x")
    assert reconcile_jobs(conn, staging_root=tmp_path / "staging") == (3, 0)
    assert sorted(path.name for path in staging.iterdir()) == sorted([old[0], old[1], "other.txt", "new.part"])
    assert reconcile_jobs(conn, tmp_path / "nowhere").deleted_files == 0


def test_a_row_without_its_file_is_healed_from_the_same_hash_or_fails_as_missing(conn, tmp_path):
    clock = clock_of(conn)
    sha = hashlib.sha256(b"paper").hexdigest()
    (tmp_path / "kept.pdf").write_bytes(b"paper")
    jobs = [
        finalize(conn, 1, tmp_path / "kept.pdf", sha, "INDEXED"),
        finalize(conn, 2, tmp_path / "sub" / "gone.pdf", sha),
        finalize(conn, 3, tmp_path / "lost.pdf", "0" * 64),
    ]
    clock.advance(3_601)
    cleanup_stale_leases(conn)
    assert lease(conn)["job_id"] == jobs[1]  # which makes the other one free
    release_lease(conn, job_id=jobs[1], owner="worker-1")
    assert reconcile_jobs(conn, tmp_path) == (0, 2)
    assert (tmp_path / "sub" / "gone.pdf").read_bytes() == b"paper"
    assert [get_current_state(conn, job_id=job) for job in jobs] == ["INDEXED", "FINALIZED", "FAILED"]
    app = Leasehold(connection=conn)
    failure = app.get(int(jobs[2])).failure
    assert failure is not None
    assert failure["error_class"] == "FINAL_MISSING"
    app.close()
    assert reconcile_jobs(conn, tmp_path) == (0, 0)


def test_what_is_not_committed_leases_nothing(conn):
    plan(conn)
    conn.execute("BEGIN")
    with pytest.raises(Misuse, match="A transaction is open"):
        lease_next_job(conn, owner="worker-1")
    conn.execute("ROLLBACK")
    lease(conn)


def test_a_plan_commits_with_the_callers_rows_or_not_at_all(conn):
    conn.execute("BEGIN")
    plan(conn)
    conn.execute("ROLLBACK")
    assert table(conn, "artifact_jobs") == []


def test_many_processes_lease_every_job_once(conn, connect, tmp_path):
    jobs = sorted(plan(conn, number) for number in range(12))
    library = "apsw" if isinstance(conn, apsw.Connection) else "sqlite3"
    code = f"""
import sys, {library}
from leasehold.pipelines.download.job_leasing import lease_next_job, release_lease
from leasehold.pipelines.download.job_state import advance_state
conn = {library}.{"Connection" if library == "apsw" else "connect"}(sys.argv[1])
while job := lease_next_job(conn, owner=sys.argv[2], ttl_s=600):
    print(job["job_id"], flush=True)
    advance_state(conn, job_id=job["job_id"], to_state="SKIPPED_DUPLICATE", allowed_from=("LEASED",))
    release_lease(conn, job_id=job["job_id"], owner=sys.argv[2])
"""
    words = [sys.executable, "-c", code, str(tmp_path / "manifest.sqlite3")]
    processes = [subprocess.Popen([*words, str(number)], stdout=subprocess.PIPE, text=True) for number in range(3)]
    outputs = [one.communicate()[0].split() for one in processes]
    assert [one.returncode for one in processes] == [0, 0, 0]
    assert sorted(job for one in outputs for job in one) == jobs
    assert {row[0] for row in table(conn, "artifact_jobs", "state")} == {"SKIPPED_DUPLICATE"}


def test_a_script_that_is_killed_in_an_effect_leaves_a_job_for_the_next(conn, connect, tmp_path):
    job = plan(conn)
    code = """
import sys, apsw
from leasehold.pipelines.download.job_effects import run_effect
from leasehold.pipelines.download.job_leasing import lease_next_job
conn = apsw.Connection(sys.argv[1])
job = lease_next_job(conn, owner="killed", ttl_s=1)
run_effect(conn, job_id=job["job_id"], kind="STREAM", opkey="k", effect_fn=lambda: print("in", flush=True) or input())
"""
    words = [sys.executable, "-c", code, str(tmp_path / "manifest.sqlite3")]
    script = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert script.stdout is not None
    assert script.stdout.readline().strip() == "in"
    script.kill()
    script.communicate()
    until(lambda: cleanup_stale_leases(conn) == 1)
    assert lease(conn, "next")["job_id"] == job
    assert run_effect(conn, job_id=job, kind="STREAM", opkey="k", effect_fn=lambda: {"whole": True}) == {"whole": True}


def test_another_connection_renews_by_the_owners_name_and_works_under_a_lease_of_its_own(conn, connect):
    job = plan(conn)
    lease(conn)
    other = connect()
    assert renew_lease(other, job_id=job, owner="worker-1")
    with pytest.raises(RuntimeError, match=r"^state_transition_denied .*held by worker-1"):
        go(other, job, "HEAD_DONE")
    go(conn, job, "HEAD_DONE")


def test_s2_who_has_lost_a_lease_neither_renews_nor_releases_another_of_the_same_name(conn, connect):
    clock, other = clock_of(conn), connect()
    job = plan(conn)
    lease(conn, ttl_s=10)
    clock.advance(11)
    lease(other, ttl_s=100)
    assert not renew_lease(conn, job_id=job, owner="worker-1")
    assert not release_lease(conn, job_id=job, owner="worker-1")
    assert renew_lease(other, job_id=job, owner="worker-1")
    with pytest.raises(RuntimeError, match=r"^state_transition_denied"):
        go(conn, job, "HEAD_DONE")


def test_the_typical_usage_pattern_of_the_document(tmp_path, monkeypatch):
    """As it stands there, with the three functions it leaves to the reader."""
    fetched = []

    def stream(url):
        fetched.append(url)
        return {"sha256": "0" * 64}

    names: dict[str, Any] = {
        "fetch_head": lambda url: {"code": "OK", "status": len(url)},
        "stream_to_file": stream,
        "finalize_artifact": lambda: {"code": "OK"},
    }
    monkeypatch.chdir(tmp_path)
    exec((Path(__file__).parent / "typical_usage.txt").read_text(), names)  # noqa: S102
    conn = names["conn"]
    assert fetched == ["https://api.arxiv.org/pdf/2024.00001v1"]
    assert table(conn, "artifact_jobs", "state, lease_owner") == [("INDEXED", None)]
    done = table(conn, "artifact_ops ORDER BY started_at", "op_type, result_code")
    assert done == [("HEAD", "OK"), ("STREAM", "OK"), ("FINALIZE", "OK")]
    conn.close()
