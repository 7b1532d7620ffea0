"""Huey on SQLite: SqliteHuey in WAL mode with `fsync=True`, which is `synchronous` FULL, one consumer with one thread.

From its docs: "Consuming Tasks" (`workers`, `worker_type=thread`, `initial_delay` as the polling interval). More
threads wait for the same file: one was fastest. Without `fsync` it has whatever the SQLite of its Python was built
with: FULL on most systems, NORMAL on some. It has no bulk call, keeps no finished tasks, and drops a task from its
table before running it: a killed worker's task is gone.
"""

# Jobs that do nothing need nothing of what they are given.
# ruff: noqa: ARG001
from __future__ import annotations

import logging
import os
import time

import peer_protocol
from huey import SqliteHuey

WORKERS = int(os.environ.get("HUEY_WORKERS", "1"))
POLL_SECONDS = float(os.environ.get("HUEY_POLL", "0.01"))


def make(tally: peer_protocol.Tally) -> tuple[SqliteHuey, dict[str, object]]:
    huey = SqliteHuey(filename=peer_protocol.URL.removeprefix("sqlite:///"), fsync=True)

    @huey.task(name="noop")
    def noop(payload: peer_protocol.Payload) -> None:
        tally.count()

    @huey.task(name="stamp")
    def stamp(payload: peer_protocol.Payload) -> None:
        tally.started("stamp")

    @huey.task(name="hold")
    def hold(payload: peer_protocol.Payload) -> None:
        tally.started("hold")
        time.sleep(peer_protocol.HOLD_SECONDS)

    return huey, {"noop": noop, "stamp": stamp, "hold": hold}


class Client:
    def __init__(self) -> None:
        _, self.tasks = make(peer_protocol.Tally())

    def setup(self) -> None:
        """Nothing: the tables come with the first connection."""

    def bulk(self, kind: str, payloads: list[peer_protocol.Payload]) -> None:
        self.singles(kind, payloads)

    def singles(self, kind: str, payloads: list[peer_protocol.Payload]) -> list[peer_protocol.Call]:
        return peer_protocol.timed(self.tasks[kind], payloads)  # type: ignore[arg-type]


def work(tally: peer_protocol.Tally, mode: str) -> None:
    logging.disable(logging.CRITICAL)
    huey, _ = make(tally)
    if mode == "default":
        huey.create_consumer().run()
    else:
        huey.create_consumer(workers=WORKERS, initial_delay=POLL_SECONDS, max_delay=POLL_SECONDS, periodic=False).run()


if __name__ == "__main__":
    peer_protocol.main(Client, work)
