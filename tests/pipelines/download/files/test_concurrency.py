"""Threads behind a loop: one that does things for many at once, and many that each do one."""

import asyncio
import threading

import pytest

from leasehold.pipelines.download.process.concurrency import Batches, ThreadPool


def test_what_gathers_while_a_group_is_done_is_the_next_group_and_each_gets_its_own_answer():
    groups: list[list[int]] = []
    begun, go_on = threading.Event(), threading.Event()

    def work(items):
        groups.append(items)
        begun.set()
        assert go_on.wait(60)
        return [ValueError(f"no {item}") if item == 3 else item * 2 for item in items]

    async def run():
        batches = Batches("test", work, 100)
        first = batches.do(0)
        await asyncio.to_thread(begun.wait, 60)
        others = [batches.do(number) for number in range(1, 6)]
        await asyncio.sleep(0)  # each has said its wish
        go_on.set()
        found = await asyncio.gather(first, *others, return_exceptions=True)
        batches.close()
        return found

    found = asyncio.run(run())
    assert groups == [[0], [1, 2, 3, 4, 5]]
    assert [one for one in found if isinstance(one, int)] == [0, 2, 4, 8, 10]
    assert [str(one) for one in found if isinstance(one, ValueError)] == ["no 3"]


def test_no_group_is_larger_than_it_may_be_and_a_failure_of_the_whole_is_told_to_all():
    sizes: list[int] = []

    def work(items):
        sizes.append(len(items))
        raise OSError("the disk is gone")

    async def run():
        batches = Batches("test", work, 3)
        found = await asyncio.gather(*(batches.do(number) for number in range(10)), return_exceptions=True)
        batches.close()
        return found

    assert {str(one) for one in asyncio.run(run())} == {"the disk is gone"}
    assert (sum(sizes), max(sizes)) == (10, 3)


def test_who_waits_no_longer_disturbs_nobody():
    go_on = threading.Event()

    def work(items):
        assert go_on.wait(60)
        return items

    async def run():
        batches = Batches("test", work, 1)
        lost, kept = batches.do(1), batches.do(2)
        await asyncio.sleep(0)
        lost.cancel()
        go_on.set()
        found = await kept
        batches.close()
        return found, lost.cancelled()

    assert asyncio.run(run()) == (2, True)


def test_there_are_as_many_hands_as_are_needed_at_once_and_no_more_than_may_be():
    meeting = threading.Barrier(4)

    async def run(most, wishes, act):
        hands = ThreadPool(most)
        found = await asyncio.gather(*(hands.do(act) for _ in range(wishes)))
        hands.close()
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
        hands = ThreadPool(1)
        with pytest.raises(OSError, match="no"):
            await hands.do(fail)
        found = await hands.do(lambda: 7)
        hands.close()
        return found

    assert asyncio.run(run()) == 7
