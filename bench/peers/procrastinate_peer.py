"""Procrastinate: several async workers in one process, psycopg's binary build, a pool of connections.

From its docs: "Launch a worker" and "Asynchronous operations & concurrency" (`concurrency`, as many connections as
jobs at once), "Batch defer" (`batch_defer_async`), PsycopgConnector over a psycopg pool. A worker fetches one job after
the other, so several in one process are faster than one with more concurrency. Finished jobs are kept, its default. A
killed worker's jobs are retried only by a periodic task that its users write ("Retry stalled jobs").
"""

# Jobs that do nothing need nothing of what they are given.
# ruff: noqa: ARG001
from __future__ import annotations

import asyncio
import os
from typing import Any

import peer_protocol
from procrastinate import App, PsycopgConnector

WORKERS = int(os.environ.get("PRO_WORKERS", "8"))
CONCURRENCY = int(os.environ.get("PRO_CONCURRENCY", "5"))
POOL = int(os.environ.get("PRO_POOL", "30"))
CHUNK = 5_000


def make(pool: int, tally: peer_protocol.Tally) -> tuple[App, dict[str, Any]]:
    app = App(connector=PsycopgConnector(conninfo=peer_protocol.URL, min_size=min(pool, 4), max_size=pool))

    @app.task(name="noop")
    async def noop(user: int, address: str, template: str) -> None:
        tally.count()

    @app.task(name="stamp")
    async def stamp(user: int, address: str, template: str) -> None:
        tally.started("stamp")

    @app.task(name="hold")
    async def hold(user: int, address: str, template: str) -> None:
        tally.started("hold")
        await asyncio.sleep(peer_protocol.HOLD_SECONDS)

    return app, {"noop": noop, "stamp": stamp, "hold": hold}


class Client:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.app, self.tasks = make(1, peer_protocol.Tally())
        self.loop.run_until_complete(self.app.open_async())

    def setup(self) -> None:
        self.loop.run_until_complete(self.app.schema_manager.apply_schema_async())

    def bulk(self, kind: str, payloads: list[peer_protocol.Payload]) -> None:
        async def submit() -> None:
            for start in range(0, len(payloads), CHUNK):
                await self.tasks[kind].batch_defer_async(*payloads[start : start + CHUNK])

        self.loop.run_until_complete(submit())

    def singles(self, kind: str, payloads: list[peer_protocol.Payload]) -> list[peer_protocol.Call]:
        task = self.tasks[kind]
        return self.loop.run_until_complete(
            peer_protocol.timed_async(lambda payload: task.defer_async(**payload), payloads)
        )


async def run(tally: peer_protocol.Tally, mode: str) -> None:
    tuned = mode == "throughput"
    app, _ = make(POOL if tuned else 4, tally)
    settings = {"concurrency": CONCURRENCY, "install_signal_handlers": False} if tuned else {}
    async with app.open_async():
        await asyncio.gather(*(app.run_worker_async(**settings) for _ in range(WORKERS if tuned else 1)))


def work(tally: peer_protocol.Tally, mode: str) -> None:
    asyncio.run(run(tally, mode))


if __name__ == "__main__":
    peer_protocol.main(Client, work)
