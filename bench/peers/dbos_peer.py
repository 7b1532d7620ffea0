"""DBOS on PostgreSQL and on SQLite: a queue, as many workflows at once as its threads carry well.

From its docs: "Queues & Concurrency", "Configuration" (pool, threads, no ping before each use of a connection),
`enqueue_in_transaction` of DBOSClient for many at a time, an `executor_id` for each of two processes. With its own
settings there is one id, and pending workflows are recovered when a process with that id starts, not while it runs.
Workflows of steps come from the queue or are started by their worker ("Workflows": `start_workflow` on threads,
`start_workflow_async` on an event loop): DBOS_STEPS selects one. On SQLite its default is a rollback journal with
`synchronous` FULL; the file is put into WAL mode first, in its favour.
"""

# Jobs that do nothing need nothing of what they are given.
# ruff: noqa: ARG001
from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import peer_protocol
import sqlalchemy
from dbos import DBOS, DBOSClient

QUEUE = "bench"
STEPS = 10
WAY = os.environ.get("DBOS_STEPS", "queue")
THREADS = int(os.environ.get("DBOS_THREADS", "8"))
FLYING = int(os.environ.get("DBOS_FLYING", "100"))
POLL_SECONDS = float(os.environ.get("DBOS_POLL", "0.05"))
JOURNAL = os.environ.get("DBOS_JOURNAL", "wal")
LATENCY_POLL_SECONDS = 0.01
SYNCHRONOUS_FULL = 2
CHUNK = 500
VERSION = "1"


class Client:
    def __init__(self) -> None:
        self.engine: Any = sqlalchemy.create_engine(peer_protocol.URL.replace("postgresql://", "postgresql+psycopg://"))
        self.client = DBOSClient(system_database_url=peer_protocol.URL)

    def setup(self) -> None:
        if self.engine.dialect.name == "sqlite":
            self._prepare_file()
        launch("setup", THREADS)
        DBOS.register_queue(QUEUE, worker_concurrency=FLYING, polling_interval_sec=POLL_SECONDS)
        DBOS.destroy()

    def _prepare_file(self) -> None:
        with self.engine.connect() as connection:
            connection.exec_driver_sql(f"PRAGMA journal_mode = {JOURNAL}")
            if connection.exec_driver_sql("PRAGMA synchronous").scalar() < SYNCHRONOUS_FULL:
                raise RuntimeError("the SQLite of this Python does not commit with synchronous FULL by default")

    def bulk(self, kind: str, payloads: list[peer_protocol.Payload]) -> None:
        for start in range(0, len(payloads), CHUNK):
            with self.engine.begin() as connection:
                for payload in payloads[start : start + CHUNK]:
                    self.client.enqueue_in_transaction(connection, options(kind), payload)

    def singles(self, kind: str, payloads: list[peer_protocol.Payload]) -> list[peer_protocol.Call]:
        return peer_protocol.timed(lambda payload: self.client.enqueue(options(kind), payload), payloads)


def options(kind: str) -> Any:
    return {"queue_name": QUEUE, "workflow_name": kind, "app_version": VERSION}


def launch(executor: str, threads: int) -> None:
    config: dict[str, Any] = {
        "name": "bench",
        "application_version": VERSION,
        "system_database_url": peer_protocol.URL,
        "log_level": "CRITICAL",
        "run_admin_server": False,
    }
    if executor:
        config |= {"executor_id": executor, "max_executor_threads": threads, "sys_db_pool_size": threads + 2}
        config["db_engine_kwargs"] = {"pool_pre_ping": False}
    DBOS(config=config)
    DBOS.launch()


def register(tally: peer_protocol.Tally) -> None:
    @DBOS.workflow(name="noop")
    def noop(payload: peer_protocol.Payload) -> None:
        tally.count()

    @DBOS.workflow(name="stamp")
    def stamp(payload: peer_protocol.Payload) -> None:
        tally.started("stamp")

    @DBOS.workflow(name="hold")
    def hold(payload: peer_protocol.Payload) -> None:
        tally.started("hold")
        time.sleep(peer_protocol.HOLD_SECONDS)


def register_steps(tally: peer_protocol.Tally) -> dict[str, Any]:
    @DBOS.step()
    def act(number: int) -> int:
        return number

    @DBOS.workflow(name="ten")
    def ten(payload: peer_protocol.Payload) -> None:
        tally.begin()
        for number in range(STEPS):
            act(number)
        tally.count()

    @DBOS.step()
    async def act_async(number: int) -> int:
        return number

    @DBOS.workflow(name="ten_async")
    async def ten_async(payload: peer_protocol.Payload) -> None:
        tally.begin()
        for number in range(STEPS):
            await act_async(number)
        tally.count()

    return {"threads": ten, "async": ten_async}


async def start_async(workflow: Any, given: list[peer_protocol.Payload]) -> None:
    """Start workflows on the loop that DBOS was launched in, so many at once."""
    launch(f"worker-{os.getpid()}", THREADS)
    waiting = iter(given)

    async def pilot() -> None:
        for payload in waiting:
            await (await DBOS.start_workflow_async(workflow, payload)).get_result()

    await asyncio.gather(*(pilot() for _ in range(THREADS)))
    await asyncio.sleep(peer_protocol.HOLD_SECONDS)


def work(tally: peer_protocol.Tally, mode: str) -> None:
    register(tally)
    workflows = register_steps(tally)
    given = peer_protocol.payloads(tally.expected)
    if mode == "steps" and WAY == "async":
        asyncio.run(start_async(workflows["async"], given))
    launch(f"worker-{os.getpid()}" if mode != "default" else "", THREADS)
    if mode == "default":
        DBOS.register_queue(QUEUE)
    elif mode == "latency":
        DBOS.register_queue(QUEUE, worker_concurrency=FLYING, polling_interval_sec=LATENCY_POLL_SECONDS)
    elif mode == "steps" and WAY == "threads":
        for payload in given:
            DBOS.start_workflow(workflows["threads"], payload)
    time.sleep(peer_protocol.HOLD_SECONDS)


if __name__ == "__main__":
    peer_protocol.main(Client, work)
