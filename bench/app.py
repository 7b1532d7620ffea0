"""The app whose jobs are measured: one that does nothing, and one that tells when it started."""

from __future__ import annotations

import os
import sys
import time

from leasehold import Leasehold

app = Leasehold(os.environ["LEASEHOLD_URL"])


@app.job
async def noop() -> None:
    """Do nothing."""


@app.job(queue="latency")
async def stamp() -> dict[str, int]:
    """Tell when it started."""
    return {"started": time.time_ns()}


if __name__ == "__main__":
    if sys.argv[1] == "drain":
        app.drain(concurrency=int(sys.argv[2]), queues=["default"])
    else:
        app.work(concurrency=int(sys.argv[2]))
