"""Leasehold, by its public interface alone: async jobs, one worker with many slots, `submit_many` for bulk.

From the docs: `app.work(concurrency=…)`. With its own settings (`default`) nothing is passed. SQLite at its only
durability: WAL, `synchronous=FULL`.
"""

# Jobs that do nothing need nothing of what they are given.
# ruff: noqa: ARG001
from __future__ import annotations

import asyncio
import os

import peer_protocol

from leasehold import Leasehold, Task

CONCURRENCY = int(os.environ.get("LEASEHOLD_CONCURRENCY", "1000"))
STEPS = 10


def make(tally: peer_protocol.Tally) -> Leasehold:
    app = Leasehold(peer_protocol.URL)

    @app.job
    async def noop(user: int, address: str, template: str) -> None:
        tally.count()

    @app.job
    async def stamp(user: int, address: str, template: str) -> None:
        tally.started("stamp")

    @app.job
    async def hold(user: int, address: str, template: str) -> None:
        tally.started("hold")
        await asyncio.sleep(peer_protocol.HOLD_SECONDS)

    @app.job
    async def ten(task: Task, user: int, address: str, template: str) -> None:
        tally.begin()
        for number in range(STEPS):
            await task.effect("STEP", act, i=number)
        tally.count()

    return app


def act() -> int:
    return 1


class Client:
    def __init__(self) -> None:
        self.app = make(peer_protocol.Tally())

    def setup(self) -> None:
        self.app.migrate()

    def bulk(self, kind: str, payloads: list[peer_protocol.Payload]) -> None:
        self.app.submit_many(kind, payloads)

    def singles(self, kind: str, payloads: list[peer_protocol.Payload]) -> list[peer_protocol.Call]:
        return peer_protocol.timed(lambda payload: self.app.submit(kind, payload), payloads)


def work(tally: peer_protocol.Tally, mode: str) -> None:
    if mode == "default":
        make(tally).work()
    else:
        make(tally).work(concurrency=CONCURRENCY)


if __name__ == "__main__":
    peer_protocol.main(Client, work)
