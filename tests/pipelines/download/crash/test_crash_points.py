"""A crash before, between and after all steps of a file: it gets whole, and no byte of it is fetched twice."""

import fcntl
import hashlib
import random
import signal

import pytest

from leasehold.model.failure.loss import Reclaim
from leasehold.pipelines.download import read_manifest
from leasehold.pipelines.download.files.writer import SYNC_BYTES
from leasehold.pipelines.download.repair.retry import retry
from leasehold.testing import Clock, crash_at, drain
from tests.pipelines.download.crash.test_kills import worker
from tests.support.processes.stopped import has_stopped, holds_a_transaction, holds_the_file
from tests.support.wait import until

CONTENT = random.Random(5).randbytes(200_000)
SHA = hashlib.sha256(CONTENT).hexdigest()
LARGE = SYNC_BYTES + 3_000_000


@pytest.mark.parametrize("point", ["before_intent", "after_intent", "after_act", "after_result"])
@pytest.mark.parametrize("kind", ["HEAD", "STREAM", "FINALIZE", "INDEX", "DEDUPE"])
def test_s5_a_crash_at_any_point_of_any_step_fetches_nothing_twice(collection, server, kind, point):
    paths = ["/first", "/second"]
    jobs = []
    for path, is_crashed in zip(paths, (kind != "DEDUPE", kind == "DEDUPE"), strict=True):
        jobs += collection.plan(read_manifest([server.add(path, CONTENT)]))
        if is_crashed:
            with crash_at(collection.app, point, kind=kind):
                collection.app.drain(timeout=120)
        collection.app.drain(timeout=120)
        assert [event.name for event in collection.app.journal.of(jobs[-1].id)].count("claimed") == 1 + is_crashed
    assert [job.state for job in jobs] == ["INDEXED", "DEDUPED"]
    for path in paths:
        assert [(line.first, line.sent) for line in server.gets(path)] == [(0, len(CONTENT))]
    assert collection.content_store.object(SHA).read_bytes() == CONTENT
    assert len([path for path in (collection.content_store.root / "sha256").rglob("*") if path.is_file()]) == 1
    assert list(collection.content_store.staging.iterdir()) == []
    assert len(list(collection.tools.index.rows())) == 2


def test_a_step_that_is_known_to_be_done_is_looked_up_and_not_done_again(collection, server):
    """The row would be written a second time, with another time, if it were not found."""
    (job,) = collection.plan(read_manifest([server.add("/a", CONTENT)]))
    with crash_at(collection.app, "after_act", kind="INDEX"):
        collection.app.drain(timeout=120)
    (row,) = collection.tools.index.rows()
    collection.app.drain(timeout=120)
    assert job.state == "INDEXED"
    assert list(collection.tools.index.rows()) == [row]


def test_a_job_that_has_gone_another_way_is_not_fetched(collection, server):
    (job,) = collection.plan(read_manifest([server.add("/a", CONTENT)]))
    held = collection.app.manual.hold(job.id, owner="somebody")
    for state in ("LEASED", "SKIPPED_DUPLICATE"):
        held.task.advance(state)
    held.release()
    collection.app.drain(timeout=120)
    assert (job.status, job.failure["error_class"]) == ("ERROR", "STATE_TRANSITION_DENIED")
    assert server.gets("/a") == []
    assert list(collection.tools.index.rows()) == []


def is_stopped_between_transactions(process, url):
    """Stop a process, unless others would have to wait for a transaction of its: a lease is not to blame for that."""
    process.send_signal(signal.SIGSTOP)
    until(lambda: has_stopped(process.pid))
    if not (holds_the_file(url) if url.startswith("sqlite") else holds_a_transaction(url)):
        return True
    process.send_signal(signal.SIGCONT)
    return False


def test_what_a_stopped_worker_wakes_up_with_changes_nothing(collection, server, tmp_path):
    """It is stopped in the middle of a file until its lease was taken back; another ends it, and it goes on itself."""
    (job,) = collection.plan(read_manifest([server.add("/a", CONTENT, stall_after=[100_000])]))
    with (tmp_path / "log").open("wb") as log:
        first = worker(collection.settings, log)
        until(lambda: server.stalled, timeout=120)
        until(lambda: is_stopped_between_transactions(first, collection.settings.database), timeout=120)
        collection.app.store.leases.reclaim([Reclaim(job.id, 1, "owner gone")])
        second = worker(collection.settings, log)
        until(lambda: [event.name for event in collection.app.journal.of(job.id)].count("claimed") == 2, timeout=120)
        first.send_signal(signal.SIGCONT)
        server.released.set()
        until(lambda: job.status.settled, timeout=120)
        for process in (first, second):
            process.terminate()
            assert process.wait() == 0
    assert job.state == "INDEXED"
    assert collection.content_store.object(SHA).read_bytes() == CONTENT


def test_after_a_loss_of_power_a_large_file_goes_on_from_what_was_synced(collection, server, tmp_path):
    content = random.Random(9).randbytes(LARGE)
    (job,) = collection.plan(read_manifest([server.add("/large", content, stall_after=[LARGE - 1_000_000])]))
    with (tmp_path / "log").open("wb") as log:
        process = worker(collection.settings, log)
        until(lambda: server.stalled, timeout=120)
        sidecar = collection.content_store.part(job.key).with_suffix(".json")
        until(lambda: b'"synced": 0,' not in sidecar.read_bytes(), timeout=120)
        process.kill()
        process.wait()
    sidecar.write_text(sidecar.read_text().replace('"boot": "', '"boot": "another'))
    server.released.set()
    collection.app.drain(timeout=300)
    assert job.output["sha256"] == hashlib.sha256(content).hexdigest()
    first, second = server.gets("/large")
    assert (first.first, second.status) == (0, 206)
    assert SYNC_BYTES <= second.first < LARGE - 1_000_000


def test_a_part_that_somebody_keeps_locked_fails_its_job_as_a_conflict_until_it_is_tried_again(collection, server):
    """As a worker does that was stopped in the middle: its lease goes to another, its lock does not."""
    clock = Clock(collection.app)
    (job,) = collection.plan(read_manifest([server.add("/a", CONTENT)]))
    part = collection.content_store.part(job.key)
    part.parent.mkdir(parents=True)
    with part.open("wb") as theirs:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        drain(collection.app, clock)
    assert (job.state, job.failure["error_class"], server.gets("/a")) == ("FAILED", "CONFLICT", [])
    assert retry(collection).revived == 1
    drain(collection.app, clock)
    assert (job.state, len(server.gets("/a"))) == ("INDEXED", 1)
