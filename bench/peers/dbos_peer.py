"""DBOS on PostgreSQL and on SQLite: a queue, as many workflows at once as its threads carry well.

From its docs: "Queues & Concurrency" (`worker_concurrency`, `polling_interval_sec`), "Configuration"
(`sys_db_pool_size`, `max_executor_threads`), `enqueue_in_transaction` of DBOSClient for many at a time. Each process
has an `executor_id` of its own when two work at once, as its docs ask for; with its own settings there is one, and
pending workflows are recovered when a process with that id starts, not while it runs.
"""

# Jobs that do nothing need nothing of what they are given.
# ruff: noqa: ARG001
from __future__ import annotations

import os
import time
from typing import Any

import speech
import sqlalchemy
from dbos import DBOS, DBOSClient

QUEUE = "bench"
STEPS = 10
THREADS = int(os.environ.get("DBOS_THREADS", "8"))
FLYING = int(os.environ.get("DBOS_FLYING", "100"))
POLL_SECONDS = float(os.environ.get("DBOS_POLL", "0.05"))
CHUNK = 500
VERSION = "1"


class Client:
    def __init__(self) -> None:
        self.client = DBOSClient(system_database_url=speech.URL)
        self.engine: Any = sqlalchemy.create_engine(speech.URL.replace("postgresql://", "postgresql+psycopg://"))

    def setup(self) -> None:
        launch("setup", THREADS)
        DBOS.register_queue(QUEUE, worker_concurrency=FLYING, polling_interval_sec=POLL_SECONDS)
        DBOS.destroy()

    def bulk(self, kind: str, payloads: list[speech.Payload]) -> None:
        for start in range(0, len(payloads), CHUNK):
            with self.engine.begin() as connection:
                for payload in payloads[start : start + CHUNK]:
                    self.client.enqueue_in_transaction(connection, options(kind), payload)

    def singles(self, kind: str, payloads: list[speech.Payload]) -> list[speech.Call]:
        return speech.timed(lambda payload: self.client.enqueue(options(kind), payload), payloads)


def options(kind: str) -> Any:
    return {"queue_name": QUEUE, "workflow_name": kind, "app_version": VERSION}


def launch(executor: str, threads: int) -> None:
    config: dict[str, Any] = {
        "name": "bench",
        "application_version": VERSION,
        "system_database_url": speech.URL,
        "log_level": "CRITICAL",
        "run_admin_server": False,
    }
    if executor:
        config |= {"executor_id": executor, "max_executor_threads": threads, "sys_db_pool_size": threads + 2}
    DBOS(config=config)
    DBOS.launch()


def register(tally: speech.Tally) -> None:
    @DBOS.workflow(name="noop")
    def noop(payload: speech.Payload) -> None:
        tally.count()

    @DBOS.workflow(name="stamp")
    def stamp(payload: speech.Payload) -> None:
        tally.started("stamp")

    @DBOS.workflow(name="hold")
    def hold(payload: speech.Payload) -> None:
        tally.started("hold")
        time.sleep(speech.HOLD_SECONDS)

    @DBOS.step()
    def act(number: int) -> int:
        return number

    @DBOS.workflow(name="ten")
    def ten(payload: speech.Payload) -> None:
        for number in range(STEPS):
            act(number)
        tally.count()


def work(tally: speech.Tally, mode: str) -> None:
    register(tally)
    launch(f"worker-{os.getpid()}" if mode != "default" else "", THREADS)
    if mode == "default":
        DBOS.register_queue(QUEUE)
    time.sleep(speech.HOLD_SECONDS)


if __name__ == "__main__":
    speech.main(Client, work)
