"""The document's functional interface: planning, leasing and states, on connections of the script's own."""

import subprocess
import sys

import pytest

from leasehold import Leasehold, LeaseLost, Misuse
from leasehold.errors import JobNotFree, JobUnknown
from leasehold.pipelines.download.idempotency import job_key, op_key
from leasehold.pipelines.download.job_effects import run_effect
from leasehold.pipelines.download.job_leasing import lease_next_job, release_lease, renew_lease
from leasehold.pipelines.download.job_state import advance_state, get_current_state
from leasehold.pipelines.download.manifest import Artifact
from leasehold.pipelines.download.schema_migration import apply_migration, get_schema_version
from tests.pipelines.download.script.scripts import URL, clock_of, go, lease, plan, table


def test_the_schema_has_version_3_and_is_there_once(connect):
    conn = connect()
    assert get_schema_version(conn) == 0
    for _ in range(2):
        apply_migration(conn)
        assert get_schema_version(conn) == 3
    assert ("schema_version", "3") in table(conn, "_meta")
    assert table(conn, "artifact_jobs") == table(conn, "artifact_ops") == []


def test_a_file_of_the_earlier_system_is_left_alone(connect):
    conn = connect()
    conn.execute("CREATE TABLE artifact_jobs (job_id TEXT)")
    with pytest.raises(Misuse, match="earlier system"):
        apply_migration(conn)
    assert get_schema_version(conn) == 0


def test_without_a_schema_every_function_names_what_to_do(connect):
    with pytest.raises(Misuse, match="apply_migration"):
        plan(connect())


def test_a_job_is_planned_once_however_many_plan_it(conn, connect):
    job = plan(conn)
    assert isinstance(job, str)
    assert {plan(conn), plan(connect())} == {job}
    assert plan(conn, 2) != job
    assert get_current_state(conn, job_id=job) == "PLANNED"
    columns = "job_id, work_id, artifact_id, canonical_url, state, lease_owner, lease_until, idempotency_key"
    assert table(conn, "artifact_jobs", columns)[0] == (
        job,
        "work-1",
        "a",
        URL,
        "PLANNED",
        None,
        None,
        job_key("work-1", "a", URL),
    )


def test_one_that_was_planned_with_a_hash_is_the_same_job(conn):
    app = Leasehold(connection=conn)
    wanted = Artifact("work-1", "a", URL, sha256="0" * 64)
    job = app.submit("artifact", wanted.fields(), key=wanted.key)
    app.close()
    assert plan(conn) == str(job.id)


def test_a_lease_has_one_holder_and_returns_its_row(conn, connect):
    job = plan(conn)
    row = lease(conn, ttl_s=60)
    assert {**row, "lease_until": None, "created_at": None, "updated_at": None} == {
        "job_id": job,
        "work_id": "work-1",
        "artifact_id": "a",
        "canonical_url": URL,
        "state": "LEASED",
        "lease_owner": "worker-1",
        "lease_until": None,
        "created_at": None,
        "updated_at": None,
        "idempotency_key": job_key("work-1", "a", URL),
    }
    assert row["lease_until"] == pytest.approx(row["updated_at"] + 60, abs=30)
    assert table(conn, "artifact_jobs", "state, lease_owner") == [("LEASED", "worker-1")]
    assert lease_next_job(connect(), owner="worker-2") is None
    assert not renew_lease(conn, job_id=job, owner="worker-2")
    assert not release_lease(conn, job_id=job, owner="worker-2")
    assert renew_lease(connect(), job_id=job, owner="worker-1", ttl_s=90)
    assert release_lease(connect(), job_id=job, owner="worker-1")
    assert not release_lease(conn, job_id=job, owner="worker-1")
    assert lease(connect(), owner="worker-2")["job_id"] == job


def test_jobs_come_in_the_order_they_were_planned(conn):
    jobs = [plan(conn, number, f"https://host{9 - number}.example/x") for number in range(4)]
    assert [lease(conn)["job_id"] for _ in jobs] == jobs


def test_a_crashed_job_is_leased_again_and_goes_on_where_it_was(conn, connect):
    clock, calls = clock_of(conn), []
    job = plan(conn)
    head, stream = op_key("HEAD", job, url=URL), op_key("STREAM", job, url=URL, range_start=0)
    lease(conn, "dead", ttl_s=10)
    go(conn, job, "HEAD_DONE", "STREAMING")
    run_effect(conn, job_id=job, kind="HEAD", opkey=head, effect_fn=lambda: calls.append("head"))
    clock.advance(11)
    other = connect()
    assert not renew_lease(other, job_id=job, owner="dead")
    assert lease(other, "next")["state"] == "STREAMING"
    with pytest.raises(RuntimeError, match=r"^state_transition_denied"):  # from the top, but no further back
        advance_state(other, job_id=job, to_state="RESUME_OK", allowed_from=("HEAD_DONE", "STREAMING"))
    go(other, job, "HEAD_DONE", "STREAMING")
    run_effect(other, job_id=job, kind="HEAD", opkey=head, effect_fn=lambda: calls.append("head"))
    run_effect(other, job_id=job, kind="STREAM", opkey=stream, effect_fn=lambda: calls.append("stream"))
    go(other, job, "FINALIZED")
    advance_state(other, job_id=job, to_state="INDEXED", allowed_from=("FINALIZED",))
    assert calls == ["head", "stream"]
    assert release_lease(other, job_id=job, owner="next")
    assert (get_current_state(conn, job_id=job), lease_next_job(conn, owner="more")) == ("INDEXED", None)


def test_only_forward_along_the_arrows_and_the_caller_cannot_widen_them(conn):
    job = plan(conn)
    lease(conn)
    for wanted, allowed in (
        ("STREAMING", ("PLANNED",)),
        ("STREAMING", ("LEASED",)),
        ("FINALIZED", ("LEASED",)),
        ("INDEXED", ("LEASED", "FINALIZED")),
        ("PLANNED", ("LEASED",)),
        ("NOWHERE", ("LEASED",)),
        ("HEAD_DONE", ()),
        ("HEAD_DONE", ("STREAMING",)),
    ):
        with pytest.raises(RuntimeError, match=r"^state_transition_denied .*have=LEASED"):
            advance_state(conn, job_id=job, to_state=wanted, allowed_from=allowed)
    assert get_current_state(conn, job_id=job) == "LEASED"
    go(conn, job)
    for wanted in ("STREAMING", "HEAD_DONE", "LEASED", "PLANNED", "FAILED", "FINALIZED"):
        with pytest.raises(RuntimeError, match=r"^state_transition_denied .*have=FINALIZED"):
            advance_state(conn, job_id=job, to_state=wanted, allowed_from=("FINALIZED",))
    advance_state(conn, job_id=job, to_state="DEDUPED", allowed_from=("FINALIZED",))
    with pytest.raises(RuntimeError, match=r"^state_transition_denied .*have=DEDUPED"):
        advance_state(conn, job_id=job, to_state="INDEXED", allowed_from=("FINALIZED", "DEDUPED"))


def test_without_a_lease_a_job_that_nobody_holds_is_moved_and_one_that_is_held_is_not(conn):
    job, other = plan(conn), plan(conn, 2)
    advance_state(conn, job_id=job, to_state="SKIPPED_DUPLICATE", allowed_from=("PLANNED",))
    assert get_current_state(conn, job_id=job) == "SKIPPED_DUPLICATE"
    code = (
        "import sys, apsw; from leasehold.pipelines.download.job_leasing import lease_next_job\n"
        "print(lease_next_job(apsw.Connection(sys.argv[1]), owner='elsewhere')['job_id'])"
    )
    name = next(row[2] for row in conn.cursor().execute("PRAGMA database_list"))
    taken = subprocess.run([sys.executable, "-c", code, name], check=True, capture_output=True, text=True)
    assert taken.stdout.strip() == other
    with pytest.raises(RuntimeError, match=r"^state_transition_denied .*held by elsewhere"):
        advance_state(conn, job_id=other, to_state="HEAD_DONE", allowed_from=("LEASED",))
    with pytest.raises(JobNotFree, match="elsewhere"):
        run_effect(conn, job_id=other, kind="HEAD", opkey="k", effect_fn=dict)


def test_who_has_lost_the_lease_changes_nothing_more(conn, connect):
    clock = clock_of(conn)
    job = plan(conn)
    lease(conn, "slow", ttl_s=10)
    clock.advance(11)
    with pytest.raises(RuntimeError, match=r"^state_transition_denied"):
        advance_state(conn, job_id=job, to_state="HEAD_DONE", allowed_from=("LEASED",))
    with pytest.raises(LeaseLost):
        run_effect(conn, job_id=job, kind="HEAD", opkey="k", effect_fn=dict)
    assert not release_lease(conn, job_id=job, owner="slow")
    assert lease(connect(), "quick")["job_id"] == job


def test_unknown_jobs_are_nobodys_and_never_done(conn):
    for nonsense in ("999", "no job", "", "-1", "9" * 40, "१२"):
        assert get_current_state(conn, job_id=nonsense) is None
        with pytest.raises(RuntimeError, match=r"^state_transition_denied .*MISSING"):
            advance_state(conn, job_id=nonsense, to_state="HEAD_DONE", allowed_from=("LEASED",))
        with pytest.raises(JobUnknown):
            run_effect(conn, job_id=nonsense, kind="HEAD", opkey="k", effect_fn=dict)
        with pytest.raises(JobUnknown):
            release_lease(conn, job_id=nonsense, owner="worker-1")


def test_failed_by_a_script_ends_the_job_and_a_person_can_revive_it(conn):
    job = plan(conn)
    lease(conn)
    go(conn, job, "HEAD_DONE")
    advance_state(conn, job_id=job, to_state="FAILED", allowed_from=("LEASED", "HEAD_DONE", "STREAMING"))
    assert get_current_state(conn, job_id=job) == "FAILED"
    assert release_lease(conn, job_id=job, owner="worker-1")
    assert lease_next_job(conn, owner="worker-1") is None
    app = Leasehold(connection=conn)
    (letter,) = app.deadletters.list()
    app.deadletters.evidence(letter.id, "it was the line")
    app.deadletters.revive(letter.id)
    app.close()
    assert lease(conn)["state"] == "HEAD_DONE"
    go(conn, job)


def test_finalized_and_given_back_comes_again_an_hour_later_and_not_at_once(conn):
    clock = clock_of(conn)
    job = plan(conn)
    lease(conn)
    go(conn, job)
    assert release_lease(conn, job_id=job, owner="worker-1")
    assert lease_next_job(conn, owner="worker-1") is None
    clock.advance(3_601)
    assert (lease(conn)["job_id"], get_current_state(conn, job_id=job)) == (job, "FINALIZED")
    advance_state(conn, job_id=job, to_state="INDEXED", allowed_from=("FINALIZED",))
