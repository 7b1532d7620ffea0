"""Workers killed while a large file comes in, is hashed and is synced: each goes on at the very byte it finds."""

import hashlib
import json
import random
import signal
import threading

import pytest

from leasehold.pipelines.download import read_manifest
from leasehold.pipelines.download.files.writer import AT_ONCE_BYTES, STEP_BYTES, SYNC_BYTES
from tests.pipelines.download.crash.killed_worker import start
from tests.pipelines.download.crash.test_kills import worker
from tests.support.http.file_server import FileServer
from tests.support.wait import until

KILLS = 5  # with one more, no attempt is left
SIZE = 50_000_000
ON_THREADS = AT_ONCE_BYTES + STEP_BYTES  # once so much of an answer has come, threads are at work on it
AT_MOST = ON_THREADS + 3_000_000  # of one answer to a worker that is killed
SLOWLY, FASTER = 29_989, 199_999  # bytes at a time; no multiple of what anybody reads, writes or notes
PAUSE_SECONDS = 0.001
# Where the process dies, and how much it has written by then at least.
SEAMS = {
    "before sync": SYNC_BYTES,
    "after sync": SYNC_BYTES,
    "before hash_into": AT_ONCE_BYTES,
    "after hash_into": AT_ONCE_BYTES,
}


class Pauses(threading.Event):
    """Has a server pause for a moment where it would for long; what stalls, stalls."""

    def wait(self, timeout=None):
        return super().wait(PAUSE_SECONDS if timeout is not None and timeout < 1 else timeout)


class SteadyServer(FileServer):
    """A server whose crumbs come one after the other, so that there is hardly a moment without some."""

    def __init__(self):
        super().__init__()
        self.released = Pauses()


@pytest.fixture
def server():
    with SteadyServer() as made:
        yield made


@pytest.fixture
def log(tmp_path):
    with (tmp_path / "log").open("wb") as made:
        yield made


def size_of(part):
    return part.stat().st_size if part.exists() else 0


def kill_at(process, part, mark):
    """Kill a worker once its part has so many bytes, and return how many it has in the end."""
    try:
        until(lambda: size_of(part) >= mark, timeout=120, every=0.001)
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL
    return size_of(part)


def check_ranges(server, path, firsts):
    """See that every answer began at the byte where the part of then ended."""
    assert [line.first for line in server.gets(path)] == firsts
    assert [line.status for line in server.gets(path)] == [200] + [206] * (len(firsts) - 1)


def check_whole(collection, job, content):
    content_store, sha256 = collection.content_store, hashlib.sha256(content).hexdigest()
    assert (job.state, job.output["sha256"], job.output["bytes"]) == ("INDEXED", sha256, len(content))
    assert content_store.object(sha256).read_bytes() == content
    assert [path for path in (content_store.root / "sha256").rglob("*") if path.is_file()] == [
        content_store.object(sha256)
    ]
    assert list(content_store.staging.iterdir()) == []


def test_s4_workers_killed_while_bytes_are_written_and_hashed_leave_all_that_they_have_written(collection, server, log):
    """The server sends while they are killed; that it stalls a little later only keeps it from being done before."""
    content, dice = random.Random(11).randbytes(SIZE), random.Random(12)
    url = server.add("/large", content, crumbs=SLOWLY, stall_after=[AT_MOST] * KILLS)
    (job,) = collection.plan(read_manifest([url]))
    part, firsts = collection.content_store.part(job.key), [0]
    for _ in range(KILLS):
        mark = firsts[-1] + ON_THREADS + dice.randrange(1_000_000)
        firsts.append(kill_at(worker(collection.settings, log), part, mark))
        assert part.read_bytes() == content[: firsts[-1]]
    server.resources["/large"].crumbs = 0
    collection.app.drain(timeout=120)
    check_ranges(server, "/large", firsts)
    check_whole(collection, job, content)


def test_s4_a_worker_killed_while_its_part_is_synced_leaves_all_that_it_has_written(collection, server, log):
    content = random.Random(13).randbytes(SYNC_BYTES + AT_MOST)
    url = server.add("/large", content, crumbs=FASTER, stall_after=[SYNC_BYTES + ON_THREADS])
    (job,) = collection.plan(read_manifest([url]))
    part = collection.content_store.part(job.key)
    size = kill_at(worker(collection.settings, log), part, SYNC_BYTES)
    assert part.read_bytes() == content[:size]
    collection.app.drain(timeout=120)
    check_ranges(server, "/large", [0, size])
    check_whole(collection, job, content)


@pytest.mark.parametrize("seam", SEAMS)
def test_a_worker_killed_on_the_thread_that_syncs_or_hashes_has_noted_no_sync(collection, server, seam, log):
    """A note that is ahead of its sync would be believed after a loss of power."""
    least = SEAMS[seam]
    content = random.Random(14).randbytes(least + AT_MOST)
    (job,) = collection.plan(read_manifest([server.add("/large", content, stall_after=[least + ON_THREADS])]))
    part = collection.content_store.part(job.key)
    assert start(collection.settings, seam, log).wait() == -signal.SIGKILL
    size = size_of(part)
    assert least <= size < len(content)
    assert part.read_bytes() == content[:size]
    assert json.loads(part.with_suffix(".json").read_bytes())["synced"] == 0
    collection.app.drain(timeout=120)
    check_ranges(server, "/large", [0, size])
    check_whole(collection, job, content)
