"""Threads for what waits for the database or for a child to end, so that the event loop never does."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from leasehold.pipelines.agents.http.errors import TooManyRequests
from leasehold.pipelines.agents.http.limits import REQUESTS_MAX

T = TypeVar("T")


class BlockingThreads:
    """A few threads. What was begun is done, also if its client has gone meanwhile."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, "leasehold-agents-http")
        self._requests = 0

    async def run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def answer(self, work: Callable[[], T]) -> T:
        """Run the work of a request, unless too many wait already."""
        if self._requests >= REQUESTS_MAX:
            raise TooManyRequests(f"The limit is {REQUESTS_MAX}.")
        self._requests += 1
        try:
            return await self.run(work)
        finally:
            self._requests -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
