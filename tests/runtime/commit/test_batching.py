"""Batches: what gathers while one is written is the next, and each caller gets its own answer."""

import asyncio
import threading

import pytest

from leasehold.batching import Batcher


def test_what_gathers_while_a_batch_is_written_is_the_next_batch_and_each_gets_its_own_answer():
    batches: list[list[int]] = []
    begun, resume = threading.Event(), threading.Event()

    def work(items):
        batches.append(items)
        begun.set()
        assert resume.wait(60)
        return [ValueError(f"no {item}") if item == 3 else item * 2 for item in items]

    async def run():
        batcher = Batcher("test", work, 100)
        first = batcher.submit(0)
        await asyncio.to_thread(begun.wait, 60)
        others = [batcher.submit(number) for number in range(1, 6)]
        await asyncio.sleep(0)  # each has submitted its item
        resume.set()
        found = await asyncio.gather(first, *others, return_exceptions=True)
        batcher.close()
        return found

    found = asyncio.run(run())
    assert batches == [[0], [1, 2, 3, 4, 5]]
    assert [answer for answer in found if isinstance(answer, int)] == [0, 2, 4, 8, 10]
    assert [str(answer) for answer in found if isinstance(answer, ValueError)] == ["no 3"]


def test_no_batch_is_larger_than_it_may_be_and_a_failure_of_the_whole_reaches_every_caller():
    sizes: list[int] = []

    def work(items):
        sizes.append(len(items))
        raise OSError("the disk is gone")

    async def run():
        batcher = Batcher("test", work, 3)
        found = await asyncio.gather(*(batcher.submit(number) for number in range(10)), return_exceptions=True)
        batcher.close()
        return found

    assert {str(answer) for answer in asyncio.run(run())} == {"the disk is gone"}
    assert (sum(sizes), max(sizes)) == (10, 3)


def test_a_caller_that_was_cancelled_disturbs_no_other():
    resume = threading.Event()

    def work(items):
        assert resume.wait(60)
        return items

    async def run():
        batcher = Batcher("test", work, 1)
        lost, kept = batcher.submit(1), batcher.submit(2)
        await asyncio.sleep(0)
        lost.cancel()
        resume.set()
        found = await kept
        batcher.close()
        return found, lost.cancelled()

    assert asyncio.run(run()) == (2, True)


def test_a_closed_batcher_writes_what_is_left_and_takes_no_more():
    written: list[int] = []

    def work(items):
        written.extend(items)
        return items

    async def run():
        batcher = Batcher("test", work, 2)
        answers = [batcher.submit(number) for number in range(5)]
        await asyncio.to_thread(batcher.close)
        with pytest.raises(RuntimeError, match="test is closed"):
            batcher.submit(5)
        return await asyncio.gather(*answers)

    assert asyncio.run(run()) == written == [0, 1, 2, 3, 4]


class ClosingLock:
    """A lock that is released for the first time when a batcher's first item has been added: then it closes it."""

    def __init__(self, batcher):
        self._batcher = batcher
        self._lock = threading.Lock()
        self._is_first = True

    def __enter__(self):
        self._lock.acquire()

    def __exit__(self, *_):
        self._lock.release()
        if self._is_first:
            self._is_first = False
            self._batcher.close()


def test_an_item_is_answered_though_the_batcher_is_closed_as_soon_as_it_was_added():
    async def run():
        batcher = Batcher[int, int]("test", lambda items: items, 2)
        batcher._lock = ClosingLock(batcher)  # type: ignore[assignment]  # noqa: SLF001 — no other way to this moment
        return await asyncio.wait_for(batcher.submit(1), 10)

    assert asyncio.run(run()) == 1
