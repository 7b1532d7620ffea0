"""Run workflows of ten steps with DBOS, in one process: a script for the environment that `bench.peer` makes.

Prints nothing: what was done and when stands in DBOS's own tables. A first round under other names warms
connections, prepared statements and threads; it is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Iterator

from dbos import DBOS, SetWorkflowID

STEPS = 10
QUEUE = "steps"


@DBOS.step()
def act(number: int) -> int:
    """Do nothing."""
    return number


@DBOS.workflow()
def ten() -> None:
    """Take ten steps, on a thread."""
    for number in range(STEPS):
        act(number)


@DBOS.step()
async def act_async(number: int) -> int:
    """Do nothing."""
    return number


@DBOS.workflow()
async def ten_async() -> None:
    """Take ten steps, on an event loop."""
    for number in range(STEPS):
        await act_async(number)


def names(prefix: str, count: int) -> Iterator[str]:
    """Name workflows, so that warm-up and measurement can be distinguished."""
    return (f"{prefix}-{number:06d}" for number in range(count))


def start_all(prefix: str, count: int) -> None:
    """Start sync workflows and wait for them; `max_executor_threads` is how many run at once."""
    handles = []
    for name in names(prefix, count):
        with SetWorkflowID(name):
            handles.append(DBOS.start_workflow(ten))
    for handle in handles:
        handle.get_result()


async def start_all_async(prefix: str, count: int, flying: int) -> None:
    """Start async workflows, so many at once, and wait for them."""
    waiting = names(prefix, count)

    async def pilot() -> None:
        for name in waiting:
            with SetWorkflowID(name):
                handle = await DBOS.start_workflow_async(ten_async)
            await handle.get_result()

    await asyncio.gather(*(pilot() for _ in range(flying)))


def enqueue(prefix: str, count: int, *, is_async: bool) -> list[str]:
    """Put workflows into the queue."""
    function = ten_async if is_async else ten
    for name in names(prefix, count):
        with SetWorkflowID(name):
            DBOS.enqueue_workflow(QUEUE, function)
    return list(names(prefix, count))


def drain(found: list[str]) -> None:
    """Wait until queued workflows are done; asks once a second for one that is not."""
    for name in found:
        DBOS.retrieve_workflow(name).get_result()


def launch(options: argparse.Namespace) -> None:
    """Start DBOS, tuned: no log, a pool as asked for, no ping before each use of a connection."""
    DBOS(
        config={
            "name": "dbos-steps",
            "application_version": "1",
            "system_database_url": os.environ["PEER_URL"],
            "sys_db_pool_size": options.pool,
            "db_engine_kwargs": {"pool_pre_ping": options.ping},
            "max_executor_threads": options.threads,
            "log_level": "CRITICAL",
        }
    )
    DBOS.launch()


async def run_async(options: argparse.Namespace) -> None:
    """Measure async workflows, on the loop DBOS was launched in."""
    launch(options)
    await start_all_async("warm", options.warm, options.flying)
    await start_all_async("run", options.count, options.flying)


def run_queue(options: argparse.Namespace, *, is_async: bool) -> None:
    """Measure queued workflows: put into a queue that nobody may take from yet, which is then opened."""
    launch(options)
    queue = DBOS.register_queue(QUEUE, worker_concurrency=options.flying, polling_interval_sec=options.poll)
    drain(enqueue("warm", options.warm, is_async=is_async))
    queue.set_worker_concurrency(0)
    found = enqueue("run", options.count, is_async=is_async)
    queue.set_worker_concurrency(options.flying)
    drain(found)


def main() -> None:
    """Run one variant."""
    parser = argparse.ArgumentParser()
    parser.add_argument("variant", choices=["threads", "async", "queue", "queue-async"])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--warm", type=int, default=60)
    parser.add_argument("--flying", type=int, default=20)
    parser.add_argument("--threads", type=int, default=20)
    parser.add_argument("--pool", type=int, default=20)
    parser.add_argument("--poll", type=float, default=0.1)
    parser.add_argument("--ping", action="store_true")
    options = parser.parse_args()
    match options.variant:
        case "threads":
            launch(options)
            start_all("warm", options.warm)
            start_all("run", options.count)
        case "async":
            asyncio.run(run_async(options))
        case _:
            run_queue(options, is_async=options.variant == "queue-async")
    DBOS.destroy()


if __name__ == "__main__":
    main()
