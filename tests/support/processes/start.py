"""Starts one worker process; notices go to standard error.

`python -m tests.support.processes.start '{"concurrency": 5}'`
"""

import json
import logging
import os
import sys
from dataclasses import replace

from leasehold.redact import register
from leasehold.runtime.run import serve
from leasehold.runtime.worker import WorkerPlan, make_plan


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if trace := os.environ.get("WORKSHOP_TRACE"):
        count_transactions(trace)
    if secret := os.environ.get("WORKSHOP_SECRET"):
        register(secret)
    from tests.support.apps.app import app

    options = json.loads(sys.argv[1])
    if "shutdown_seconds" in options:
        app.migrate()
        serve(app.store, shut_down_soon(app, **options))
    else:
        app.work(**options)


def shut_down_soon(app, *, shutdown_seconds: float, concurrency: int = 50, grace: float = 30.0) -> WorkerPlan:
    """Plan as `app.work` does, but to wait less for a database that is away at the end."""
    plan = make_plan(app._handlers(), None, concurrency, grace, {})  # noqa: SLF001 — as `work` does
    return replace(plan, shutdown_seconds=shutdown_seconds)


def count_transactions(path: str) -> None:
    """Write a line for each transaction that SQLite is asked to begin."""
    import apsw

    lines = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def saw(event):
        if event["sql"].startswith("BEGIN"):
            os.write(lines, event["sql"].encode() + b"\n")

    # SQLite's own trace: the engine takes the ones of apsw's Python layer off its cursors.
    apsw.connection_hooks.append(lambda connection: connection.trace_v2(apsw.SQLITE_TRACE_STMT, saw))


if __name__ == "__main__":
    main()
