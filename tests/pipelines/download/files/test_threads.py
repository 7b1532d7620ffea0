"""Threads behind an event loop, each of which makes one call at a time."""

import asyncio
import threading

import pytest

from leasehold.pipelines.download.process.concurrency import ThreadPool


def test_there_are_as_many_hands_as_are_needed_at_once_and_no_more_than_may_be():
    meeting = threading.Barrier(4)

    async def run(most, calls, act):
        threads = ThreadPool(most)
        found = await asyncio.gather(*(threads.do(act) for _ in range(calls)))
        threads.close()
        return found

    def meet():
        meeting.wait(60)  # all four are there at once
        return threading.get_ident()

    assert len(set(asyncio.run(run(10, 4, meet)))) == 4
    assert len(set(asyncio.run(run(2, 20, threading.get_ident)))) <= 2


def test_what_a_hand_raises_is_raised_where_it_is_waited_for():
    def fail():
        raise OSError("no")

    async def run():
        threads = ThreadPool(1)
        with pytest.raises(OSError, match="no"):
            await threads.do(fail)
        found = await threads.do(lambda: 7)
        threads.close()
        return found

    assert asyncio.run(run()) == 7
