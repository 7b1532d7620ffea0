"""Awa: its queue storage, jobs queued by COPY, one async client with many workers.

From its docs: "Configuration" (`max_workers` per queue, `claim_batch_size`, `claimers`), "COPY ingestion"
(`enqueue_many_copy`), `install_queue_storage` for databases that start with that engine. Rotation and retention stay at
their defaults, and so does everything but the handlers where its own settings are asked for.
"""

# Jobs that do nothing need nothing of what they are given.
# ruff: noqa: ARG001
from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import Any

import awa
import peer_protocol

WORKERS = int(os.environ.get("AWA_WORKERS", "512"))
CLAIM_BATCH = int(os.environ.get("AWA_BATCH", "512"))
CLAIMERS = int(os.environ.get("AWA_CLAIMERS", "1"))
CONNECTIONS = int(os.environ.get("AWA_CONNECTIONS", "20"))
CHUNK = 10_000
QUEUE = "default"


@dataclass
class Noop:
    user: int
    address: str
    template: str


@dataclass
class Stamp(Noop):
    pass


@dataclass
class Hold(Noop):
    pass


MADE = {"noop": Noop, "stamp": Stamp, "hold": Hold}


class Client:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.client = self.loop.run_until_complete(connect(CONNECTIONS))

    def setup(self) -> None:
        async def install() -> None:
            await self.client.migrate()
            await self.client.install_queue_storage(schema="awa")

        self.loop.run_until_complete(install())

    def bulk(self, kind: str, payloads: list[peer_protocol.Payload]) -> None:
        async def submit() -> None:
            for start in range(0, len(payloads), CHUNK):
                jobs = [MADE[kind](**payload) for payload in payloads[start : start + CHUNK]]
                await self.client.enqueue_many_copy(jobs, queue=QUEUE)

        self.loop.run_until_complete(submit())

    def singles(self, kind: str, payloads: list[peer_protocol.Payload]) -> list[peer_protocol.Call]:
        async def submit(payload: peer_protocol.Payload) -> None:
            await self.client.insert(MADE[kind](**payload), queue=QUEUE)

        return self.loop.run_until_complete(peer_protocol.timed_async(submit, payloads))


async def connect(connections: int) -> awa.AsyncClient:
    return awa.AsyncClient(peer_protocol.URL, max_connections=connections)


async def run(tally: peer_protocol.Tally, mode: str) -> None:
    client = await connect(CONNECTIONS if mode == "throughput" else 10)

    @client.task(Noop, queue=QUEUE)
    async def noop(job: Any) -> None:
        tally.count()

    @client.task(Stamp, queue=QUEUE)
    async def stamp(job: Any) -> None:
        tally.started("stamp")

    @client.task(Hold, queue=QUEUE)
    async def hold(job: Any) -> None:
        tally.started("hold")
        await asyncio.sleep(peer_protocol.HOLD_SECONDS)

    if mode == "throughput":
        settings = {"max_workers": WORKERS, "claim_batch_size": CLAIM_BATCH, "claimers": CLAIMERS}
        await client.start([{"name": QUEUE, **settings}])
    else:
        await client.start([(QUEUE, 10)])
    await asyncio.sleep(peer_protocol.HOLD_SECONDS)


def work(tally: peer_protocol.Tally, mode: str) -> None:
    asyncio.run(run(tally, mode))


if __name__ == "__main__":
    peer_protocol.main(Client, work)
