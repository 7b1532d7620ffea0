"""A disk that is slower than a server: it is waited for, it may fail, and nobody closes a file that it is busy with."""

import asyncio
import errno
import hashlib
import json
import threading
from contextlib import closing
from typing import Any

import pytest

from leasehold.pipelines.download.fetch import stream
from leasehold.pipelines.download.files.part import LockedPart, Part
from leasehold.pipelines.download.files.writer import SYNC_BYTES, PartWriter
from leasehold.pipelines.download.http.client import Client, Head, Options
from leasehold.pipelines.download.process.concurrency import ThreadPool
from tests.support.wait import until

LARGE = bytes(4 * SYNC_BYTES)
FILE_BYTES = SYNC_BYTES + 2_000_000
TURNS = 1_000
TICKS = 3


class Slow:
    """Something that a thread does as soon as it may."""

    def __init__(self):
        self.begun = threading.Event()
        self.may_end = threading.Event()

    def take_time(self):
        self.begun.set()
        assert self.may_end.wait(120)  # longer than a test waits for anything


class SlowDraft(LockedPart):
    """A part whose sync, and whose hashing, take as long as the test wants; `story` is what was done, in order."""

    def __init__(self, path, syncing=None, hashing=None, error=None):
        super().__init__(path)
        self.story: list[str] = []
        self._syncing = syncing
        self._hashing = hashing
        self._error = error

    def sync(self):
        if self._syncing:  # else it takes no time at all
            self._syncing.take_time()
            super().sync()  # of a file that is open
            self._note("synced")
        if self._error:
            raise self._error

    def hash_into(self, digest, start, upto):
        if self._hashing:
            self._hashing.take_time()
        super().hash_into(digest, start, upto)
        if self._hashing:
            self._note("hashed")

    def close(self):
        self._note("closed")
        super().close()

    def _note(self, done):
        if done not in self.story or "closed" in self.story:  # once, unless it comes too late
            self.story.append(done)


class Tap:
    """What a writer needs of a body: where it begins, and whether it flows."""

    def __init__(self):
        self.start = 0
        self.head = Head("http://127.0.0.1/", 200, len(LARGE), '"tag"', None, None, takes_ranges=True)
        self.flows = True
        self.changes = 0

    def pause(self):
        self.flows = False
        self.changes += 1

    def resume(self):
        self.flows = True
        self.changes += 1


@pytest.fixture
def part(tmp_path):
    return Part(tmp_path / "key.part", "this boot")


async def fetch(url, part, part_file, progress):
    """Fetch a file as a worker does; the draft is closed whatever happens."""
    client, threads = Client(Options(timeout=120)), ThreadPool(4)
    try:
        with closing(part_file):
            head = await client.head(url)
            return await stream(client, url, head, part, part_file, lambda done, _: progress.append(done), threads)
    finally:
        client.close()
        threads.close()
        await asyncio.sleep(0)  # for what is closed on the loop itself


async def wait_until(condition):
    await asyncio.to_thread(until, condition)


async def end_of(fetching):
    """Wait for the end of a fetch; one that hangs fails the test."""
    await asyncio.wait([fetching], timeout=60)
    assert fetching.done(), "it hangs"
    return await fetching


async def let_others_run():
    for _ in range(TURNS):
        await asyncio.sleep(0)


def stands_still(progress):
    """Whether nothing has come since several ticks, though more than is synced at once was taken in meanwhile."""
    return len(progress) > TICKS and progress[-1] >= 2 * SYNC_BYTES and len(set(progress[-TICKS:])) == 1


def test_a_sync_that_takes_long_holds_back_the_server_and_all_of_the_file_comes_after_it(server, part):
    url = server.add("/a", LARGE)

    async def run():
        syncing, progress = Slow(), list[int]()
        fetching = asyncio.create_task(fetch(url, part, SlowDraft(part.path, syncing), progress))
        await wait_until(lambda: stands_still(progress))
        assert syncing.begun.is_set()
        assert progress[-1] < 3 * SYNC_BYTES
        assert server.gets("/a")[0].sent < len(LARGE)
        syncing.may_end.set()
        return await end_of(fetching)

    found = asyncio.run(run())
    assert (found.size, found.sha256) == (len(LARGE), hashlib.sha256(LARGE).hexdigest())
    assert len(server.gets("/a")) == 1


def test_a_writer_pauses_once_while_it_syncs_and_resumes_when_that_has_ended(part):
    async def run():
        syncing, threads = Slow(), ThreadPool(4)
        tap: Any = Tap()
        view = memoryview(LARGE)[:SYNC_BYTES]
        with closing(SlowDraft(part.path, syncing)) as part_file:
            writer = PartWriter(part, part_file, tap, None, hashlib.sha256(), lambda *_: None, threads)
            writer.write(view)
            await wait_until(syncing.begun.is_set)
            assert (tap.flows, writer.tick()) == (True, False)  # it is written on while the first stretch is synced
            writer.write(view)
            writer.write(view[:1])
            assert (tap.flows, writer.tick(), tap.changes) == (False, True, 1)
            syncing.may_end.set()
            await wait_until(lambda: tap.flows)
            assert (writer.tick(), tap.changes) == (False, 2)
            noted = json.loads(part.path.with_suffix(".json").read_text())["synced"]
            await writer.finish()
        threads.close()
        return noted

    assert asyncio.run(run()) == SYNC_BYTES


def test_a_sync_that_fails_takes_the_part_away_and_fails_the_stream(server, part):
    url = server.add("/a", LARGE[:FILE_BYTES])
    part_file = SlowDraft(part.path, error=OSError(errno.EIO, "the disk is gone"))
    with pytest.raises(OSError, match="the disk is gone"):
        asyncio.run(fetch(url, part, part_file, []))
    assert part_file.story[-1] == "closed"
    assert list(part.path.parent.iterdir()) == []


def test_a_sync_that_fails_while_the_server_is_held_back_fails_the_stream_as_well(server, part):
    url = server.add("/a", LARGE)

    async def run():
        syncing, progress = Slow(), list[int]()
        part_file = SlowDraft(part.path, syncing, error=OSError(errno.EIO, "the disk is gone"))
        fetching = asyncio.create_task(fetch(url, part, part_file, progress))
        await wait_until(lambda: stands_still(progress))
        syncing.may_end.set()
        with pytest.raises(OSError, match="the disk is gone"):
            await end_of(fetching)
        return part_file.story

    assert asyncio.run(run())[-1] == "closed"
    assert list(part.path.parent.iterdir()) == []
    assert [line.sent < len(LARGE) for line in server.gets("/a")] == [True]


@pytest.fixture(params=[None, 500_000], ids=["whole", "in the middle"])
def url(server, request):
    """A file that is synced once before its end; it comes whole at once, or only up to some bytes before its end."""
    short = [] if request.param is None else [FILE_BYTES - request.param]
    return server.add("/a", LARGE[:FILE_BYTES], stall_after=short)


def cut_short(server, url, part, part_file, busy):
    """Cancel a fetch, twice, while threads are busy with its file; let them end one by one; return how it ended."""
    stall = server.resources["/a"].stall_after

    async def run():
        size = stall[0] if stall else FILE_BYTES
        fetching = asyncio.create_task(fetch(url, part, part_file, []))
        await wait_until(lambda: all(one.begun.is_set() for one in busy) and part_file.size >= size)
        for _ in range(2):
            fetching.cancel()
            await let_others_run()
        for number, one in enumerate(busy):
            assert (fetching.done(), len(part_file.story)) == (False, number)
            one.may_end.set()
            await wait_until(lambda: len(part_file.story) > number)  # noqa: B023 — it is over before the next
        found = await asyncio.gather(fetching, return_exceptions=True)
        return type(found[0])

    return asyncio.run(run())


def test_who_is_cancelled_while_a_sync_is_under_way_closes_the_file_after_it(server, url, part):
    syncing = Slow()
    part_file = SlowDraft(part.path, syncing)
    assert cut_short(server, url, part, part_file, [syncing]) is asyncio.CancelledError
    assert part_file.story == ["synced", "closed"]
    assert json.loads(part.path.with_suffix(".json").read_text())["synced"] >= SYNC_BYTES  # what is there counts


def test_who_is_cancelled_while_bytes_are_hashed_closes_the_file_after_that(server, url, part):
    hashing = Slow()
    part_file = SlowDraft(part.path, hashing=hashing)
    assert cut_short(server, url, part, part_file, [hashing]) is asyncio.CancelledError
    assert part_file.story == ["hashed", "closed"]


@pytest.mark.parametrize("wanted", [["synced", "hashed"], ["hashed", "synced"]], ids=" then ".join)
def test_who_is_cancelled_while_both_are_under_way_waits_for_both(server, url, part, wanted):
    busy = {"synced": Slow(), "hashed": Slow()}
    part_file = SlowDraft(part.path, busy["synced"], busy["hashed"])
    assert cut_short(server, url, part, part_file, [busy[done] for done in wanted]) is asyncio.CancelledError
    assert part_file.story == [*wanted, "closed"]


def test_a_sync_that_fails_after_a_cancel_takes_the_part_away_too(server, url, part):
    syncing = Slow()
    part_file = SlowDraft(part.path, syncing, error=OSError(errno.EIO, "the disk is gone"))
    assert cut_short(server, url, part, part_file, [syncing]) is asyncio.CancelledError
    assert part_file.story == ["synced", "closed"]
    assert list(part.path.parent.iterdir()) == []
