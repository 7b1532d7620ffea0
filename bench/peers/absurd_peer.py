"""Absurd: the schema that `absurdctl` carries, sync workers on threads, each with a connection of its own.

From its docs: "Python SDK" (`start_worker(concurrency, batch_size, poll_interval)`, a client made from a URL or a
connection). A client has one connection, so several in one process share the work better than one with concurrency. It
has no bulk call: tasks are spawned in one transaction on the caller's connection. With its own settings a lost claim is
taken up again after 120 s.
"""

# Jobs that do nothing need nothing of what they are given.
# ruff: noqa: ARG001
from __future__ import annotations

import os
import threading
import time

import absurdctl
import peer_protocol
import psycopg
from absurd_sdk import Absurd, TaskContext

CLIENTS = int(os.environ.get("ABSURD_CLIENTS", "16"))
BATCH = int(os.environ.get("ABSURD_BATCH", "100"))
POLL_SECONDS = 0.05
LATENCY_POLL_SECONDS = 0.01
STEPS = 10
CHUNK = 1_000


class Client:
    def __init__(self) -> None:
        self.connection = psycopg.connect(peer_protocol.URL, autocommit=True)
        self.app = register(Absurd(self.connection), peer_protocol.Tally())

    def setup(self) -> None:
        self.connection.execute(absurdctl.BUNDLED_SCHEMA_SQL.encode())
        self.app.create_queue()

    def bulk(self, kind: str, payloads: list[peer_protocol.Payload]) -> None:
        for start in range(0, len(payloads), CHUNK):
            with self.connection.transaction():
                for payload in payloads[start : start + CHUNK]:
                    self.app.spawn(kind, payload)

    def singles(self, kind: str, payloads: list[peer_protocol.Payload]) -> list[peer_protocol.Call]:
        return peer_protocol.timed(lambda payload: self.app.spawn(kind, payload), payloads)


def register(app: Absurd, tally: peer_protocol.Tally) -> Absurd:
    @app.register_task("noop")
    def noop(params: peer_protocol.Payload, context: TaskContext) -> None:
        tally.count()

    @app.register_task("stamp")
    def stamp(params: peer_protocol.Payload, context: TaskContext) -> None:
        tally.started("stamp")

    @app.register_task("hold")
    def hold(params: peer_protocol.Payload, context: TaskContext) -> None:
        tally.started("hold")
        time.sleep(peer_protocol.HOLD_SECONDS)

    @app.register_task("ten")
    def ten(params: peer_protocol.Payload, context: TaskContext) -> None:
        tally.begin()
        for number in range(STEPS):
            context.step(f"step-{number}", lambda: 1)
        tally.count()

    return app


def work(tally: peer_protocol.Tally, mode: str) -> None:
    if mode == "default":
        register(Absurd(peer_protocol.URL), tally).start_worker()
    apps = [register(Absurd(peer_protocol.URL), tally) for _ in range(1 if mode == "latency" else CLIENTS)]
    settings = {"batch_size": BATCH, "poll_interval": LATENCY_POLL_SECONDS if mode == "latency" else POLL_SECONDS}
    threads = [threading.Thread(target=app.start_worker, kwargs=settings) for app in apps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    peer_protocol.main(Client, work)
