"""How much may be open or in work at once, and which status each kind of error is answered with."""

import asyncio
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest

from leasehold import errors as engine
from leasehold.pipelines.agents import errors
from leasehold.pipelines.agents.http.answers import refuse
from leasehold.pipelines.agents.http.errors import InternalError, ServerStopping, TooManyRequests, status_of
from leasehold.pipelines.agents.http.follow import StreamFollower, StreamPosition
from leasehold.pipelines.agents.http.limits import REQUESTS_MAX, STREAMS_MAX
from leasehold.pipelines.agents.http.threads import BlockingThreads
from leasehold.pipelines.agents.records.backends import SqliteBackend
from leasehold.pipelines.agents.records.records import AgentRecords


def test_more_requests_than_may_wait_are_refused_until_one_is_done():
    async def check(threads, gate):
        waiting = [asyncio.create_task(threads.answer(gate.wait)) for _ in range(REQUESTS_MAX)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequests):
            await threads.answer(gate.wait)
        gate.set()
        assert await asyncio.gather(*waiting) == [True] * REQUESTS_MAX
        assert await threads.answer(gate.wait)

    threads = BlockingThreads(2)
    asyncio.run(check(threads, Event()))
    threads.close()


def test_more_streams_than_may_be_open_are_refused_and_all_end_when_the_server_stops():
    async def check(follower):
        with ExitStack() as streams:
            place = StreamPosition("copilot:a", 0, is_active=True)
            open_streams = [streams.enter_context(follower.follow("a", place)) for _ in range(STREAMS_MAX)]
            assert isinstance(follower.refusal(), TooManyRequests)
            follower.stop()
            assert all(stream.is_over for stream in open_streams)
            assert isinstance(follower.refusal(), ServerStopping)

    threads = BlockingThreads(1)
    asyncio.run(check(StreamFollower(AgentRecords(SqliteBackend(Path("unused"))), threads)))
    threads.close()


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.SessionUnknown, 404),
        (errors.SessionInactive, 409),
        (errors.IdempotencyConflict, 409),
        (errors.DispatchLeaseConflict, 409),
        (engine.PayloadTooLarge, 413),
        (errors.SessionInvalid, 422),
        (TooManyRequests, 429),
        (errors.RecoveryPending, 503),
        (errors.RecordsUnavailable, 503),
        (ServerStopping, 503),
        (errors.RecordsMissing, 500),
        (errors.ReplayOrderInvalid, 500),
        (InternalError, 500),
    ],
)
def test_each_kind_of_error_has_its_status_and_those_that_pass_state_when_to_try_again(error, status):
    found = error("password=hunter2hunter2")
    assert status_of(found) == status
    reply = refuse(found)
    assert ("retry-after" in reply.headers) == (status in {429, 503})
    assert b"hunter2" not in reply.body
