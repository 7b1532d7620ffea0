"""A worker that stops while something else comes: what was cut short is given back only if nobody else has cut it."""

import asyncio
from contextlib import suppress

import pytest

from leasehold import Released
from leasehold.pipelines.download.limits import LOOK_SECONDS
from leasehold.pipelines.download.process.concurrency import wait_uncancelled
from leasehold.pipelines.download.process.shutdown import ShutdownGuard

OFTEN = 8  # a look asks each once or twice


class OnProgress:
    """What a block sees of its task: whether its worker is leaving. `meanwhile` is called when that is first heard."""

    def __init__(self, meanwhile=lambda: None, *, stopping=True):
        self.asked = 0
        self._stopping = stopping
        self._meanwhile = meanwhile
        self._often = asyncio.Event()

    @property
    def stopping(self):
        self.asked += 1
        if self.asked == 1:
            self._meanwhile()
        if self.asked == OFTEN:
            self._often.set()
        return self._stopping

    async def asked_often(self):
        """Return when several looks were taken at it."""
        await self._often.wait()


def this_task():
    task = asyncio.current_task()
    assert task is not None
    return task


async def forever():
    await asyncio.get_running_loop().create_future()


async def block(shutdown, task, wait=forever, patience=0.0):
    with shutdown.guard(task, patience):
        await wait()


def run_to_end(act):
    """Run something in a task of its own, and return what it returns; a hang fails the test."""

    async def guarded():
        running = asyncio.create_task(act())
        await asyncio.wait([running], timeout=60)
        assert running.done(), "it hangs"
        return await running

    return asyncio.run(guarded())


def ended(act):
    """Run to the end, and return what it ended with."""
    with pytest.raises(BaseException) as raised:  # noqa: PT011 — a cancellation among others
        run_to_end(act)
    return raised.type


def test_who_waits_when_the_worker_stops_is_given_back_and_may_wait_for_something_else_then():
    async def run():
        for _ in range(2):
            with pytest.raises(Released):
                await block(ShutdownGuard(), OnProgress())
        lane = this_task()
        async with asyncio.timeout(60):  # nothing of the stop is left that would disturb it
            await asyncio.sleep(0)
        return lane.cancelling()

    assert run_to_end(run) == 0


def test_one_waiter_may_be_cut_short_in_two_blocks_one_after_the_other():
    async def run():
        shutdown, ends = ShutdownGuard(), []
        for _ in range(2):
            try:
                await block(shutdown, OnProgress())
            except Released:
                ends.append(this_task().cancelling())
        return ends

    assert run_to_end(run) == [0, 0]


def test_a_waiter_is_left_alone_while_its_own_worker_does_not_stop():
    async def run():
        shutdown, calm, go_on = ShutdownGuard(), OnProgress(stopping=False), asyncio.Event()
        staying = asyncio.create_task(block(shutdown, calm, go_on.wait))
        task = OnProgress()
        with pytest.raises(Released):
            await block(shutdown, task)
        assert not staying.done()
        go_on.set()
        await staying

    run_to_end(run)


def test_a_limit_of_the_handler_that_runs_out_in_the_moment_of_a_stop_wins():
    async def run():
        async with asyncio.timeout(None) as limit:
            now = asyncio.get_running_loop().time
            await block(ShutdownGuard(), OnProgress(lambda: limit.reschedule(now())))

    assert ended(run) is TimeoutError


def test_a_limit_that_runs_out_while_a_stopped_block_clears_up_wins():
    async def run():
        async with asyncio.timeout(None) as limit:
            task = OnProgress()

            async def clear_up():
                try:
                    await forever()
                finally:
                    limit.reschedule(asyncio.get_running_loop().time())
                    await wait_uncancelled(asyncio.create_task(task.asked_often()))

            await block(ShutdownGuard(), task, clear_up)

    assert ended(run) is TimeoutError


def test_a_limit_inside_the_block_is_over_with_the_block_and_costs_no_attempt():
    async def run():
        limit = asyncio.timeout(None)

        async def wait():
            async with limit:
                await forever()

        now = asyncio.get_running_loop().time
        await block(ShutdownGuard(), OnProgress(lambda: limit.reschedule(now())), wait)

    assert ended(run) is Released


def test_a_limit_that_ran_out_before_the_stop_is_reported_as_such():
    async def run():
        task = OnProgress(stopping=False)
        async with asyncio.timeout(0):
            await block(ShutdownGuard(), task)

    assert ended(run) is TimeoutError


@pytest.mark.parametrize("is_first", [True, False], ids=["before the stop", "after the stop"])
def test_a_lease_that_is_lost_in_the_moment_of_a_stop_is_not_given_back(is_first):
    async def run():
        lane, soon = this_task(), asyncio.get_running_loop().call_soon
        lose = lane.cancel if is_first else lambda: soon(lane.cancel)
        try:
            await block(ShutdownGuard(), OnProgress(lose))
        finally:
            assert lane.cancelling() == 1  # the other's, which is not ours to take back

    assert ended(run) is asyncio.CancelledError


def test_a_lease_that_is_lost_while_a_stopped_block_clears_up_is_not_given_back():
    async def run():
        lane, task = this_task(), OnProgress()

        async def clear_up():
            try:
                await forever()
            finally:
                asyncio.get_running_loop().call_soon(lane.cancel)
                await wait_uncancelled(asyncio.create_task(task.asked_often()))

        await block(ShutdownGuard(), task, clear_up)

    assert ended(run) is asyncio.CancelledError


def test_a_lease_that_is_lost_while_nobody_stops_ends_the_block_as_ever():
    async def run():
        asyncio.get_running_loop().call_soon(this_task().cancel)
        await block(ShutdownGuard(), OnProgress(stopping=False))

    assert ended(run) is asyncio.CancelledError


def test_a_block_that_cleans_up_after_a_stop_is_not_cancelled_a_second_time():
    async def run():
        lane, task, shutdown = this_task(), OnProgress(), ShutdownGuard()

        async def clear_up():
            with suppress(asyncio.CancelledError):
                await forever()
            await task.asked_often()  # would be cut short
            assert lane.cancelling() == 1
            raise asyncio.CancelledError

        await block(shutdown, task, clear_up)

    assert ended(run) is Released


def test_two_stops_of_two_workers_cut_short_both_that_wait():
    async def run():
        shutdown = ShutdownGuard()
        lanes = [asyncio.create_task(block(shutdown, OnProgress())) for _ in range(2)]
        return [type(one) for one in await asyncio.gather(*lanes, return_exceptions=True)]

    assert run_to_end(run) == [Released, Released]


def test_a_stopped_block_that_fails_raises_its_own_error():
    async def run():
        async def fail():
            try:
                await forever()
            finally:
                raise OSError("the disk is gone")

        await block(ShutdownGuard(), OnProgress(), fail)

    assert ended(run) is OSError


def test_who_is_given_some_seconds_has_them_and_who_ends_in_them_was_not_stopped():
    async def run():
        shutdown, patient, quick = ShutdownGuard(), OnProgress(), OnProgress()
        lane = asyncio.create_task(block(shutdown, patient, patience=9 * LOOK_SECONDS))
        await block(shutdown, quick, quick.asked_often, patience=9 * LOOK_SECONDS)
        with pytest.raises(Released):
            await lane
        return patient.asked

    assert run_to_end(run) > OFTEN


def test_who_has_become_patient_ends_what_it_does_after_a_stop():
    async def run():
        shutdown, task = ShutdownGuard(), OnProgress()

        async def finish():
            shutdown.extend_patience(3_600)
            await task.asked_often()

        await block(shutdown, task, finish)
        shutdown.extend_patience(1)  # outside of a block it means nothing
        return "finished"

    assert run_to_end(run) == "finished"
