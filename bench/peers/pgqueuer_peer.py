"""PgQueuer: asyncpg, uvloop, several queue managers with a connection each in one process.

From its own benchmark (tools/benchmark.py): the asyncpg driver, uvloop, several consumers a process, jobs queued by one
`enqueue` of lists. Of its five consumers with batches of ten, two with batches of 500 were twice as fast and more.
From its docs, "Performance Tuning": a connection of its own for each queue manager, larger batches for short jobs, `pgq
autovac` after the installation. Durability stays at its default, `durable`; the other two have unlogged tables.
"""

# Jobs that do nothing need nothing of what they are given.
# ruff: noqa: ARG001
from __future__ import annotations

import asyncio
import json
import os

import asyncpg
import peer_protocol
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

CONSUMERS = int(os.environ.get("PGQ_CONSUMERS", "2"))
BATCH = int(os.environ.get("PGQ_BATCH", "500"))


class Client:
    def __init__(self) -> None:
        self.loop = uvloop.new_event_loop()
        self.queries = self.loop.run_until_complete(connect())

    def setup(self) -> None:
        async def install() -> None:
            await self.queries.install()
            await self.queries.optimize_autovacuum()

        self.loop.run_until_complete(install())

    def bulk(self, kind: str, payloads: list[peer_protocol.Payload]) -> None:
        bodies = [json.dumps(payload).encode() for payload in payloads]
        self.loop.run_until_complete(
            self.queries.enqueue([kind] * len(bodies), list[bytes | None](bodies), [0] * len(bodies))
        )

    def singles(self, kind: str, payloads: list[peer_protocol.Payload]) -> list[peer_protocol.Call]:
        async def submit(payload: peer_protocol.Payload) -> None:
            await self.queries.enqueue(kind, json.dumps(payload).encode())

        return self.loop.run_until_complete(peer_protocol.timed_async(submit, payloads))


async def connect() -> Queries:
    # This driver prefers a host in the address to the socket after it.
    return Queries(AsyncpgDriver(await asyncpg.connect(peer_protocol.URL.replace("@localhost/", "@/"))))


def consumer(queries: Queries, tally: peer_protocol.Tally) -> PgQueuer:
    made = PgQueuer(queries.driver)

    @made.entrypoint("noop")
    async def noop(job: Job) -> None:
        json.loads(job.payload or b"")
        tally.count()

    @made.entrypoint("stamp")
    async def stamp(job: Job) -> None:
        tally.started("stamp")

    @made.entrypoint("hold")
    async def hold(job: Job) -> None:
        tally.started("hold")
        await asyncio.sleep(peer_protocol.HOLD_SECONDS)

    return made


async def run(tally: peer_protocol.Tally, mode: str) -> None:
    if mode == "throughput":
        consumers = [consumer(await connect(), tally) for _ in range(CONSUMERS)]
        await asyncio.gather(*(each.run(batch_size=BATCH) for each in consumers))
    else:
        await consumer(await connect(), tally).run()


def work(tally: peer_protocol.Tally, mode: str) -> None:
    uvloop.run(run(tally, mode))


if __name__ == "__main__":
    peer_protocol.main(Client, work)
