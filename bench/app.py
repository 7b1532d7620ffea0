"""The app whose jobs are measured: one does nothing, one reports when it started, one has ten effects."""

from __future__ import annotations

import os
import sys
import time

from leasehold import Leasehold, Task

app = Leasehold(os.environ["LEASEHOLD_URL"])


@app.job
async def noop() -> None:
    """Do nothing."""


@app.job(queue="latency")
async def stamp() -> dict[str, int]:
    """Report when it started."""
    return {"started": time.time_ns()}


def act() -> int:
    """Do nothing to the outside world."""
    return 1


@app.job
async def ten(task: Task) -> None:
    """Have ten effects, one after the other."""
    for number in range(10):
        await task.effect("STEP", act, i=number)


if extra := os.environ.get("BENCH_EXTRA"):  # a worker that can do something that others cannot
    app.job(name=extra)(noop.handler.function)


if __name__ == "__main__":
    if sys.argv[1] == "drain":
        app.drain(concurrency=int(sys.argv[2]), queues=["default"])
    else:
        app.work(concurrency=int(sys.argv[2]))
