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
        count_statements(trace, "BEGIN")
    if trace := os.environ.get("WORKSHOP_CLAIMS"):
        count_statements(trace, "INSERT INTO temp.leasehold_taken")
    if rest := os.environ.get("WORKSHOP_REST"):
        rest_after(float(rest))
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


def rest_after(seconds: float) -> None:
    """Have threads and connections rest sooner than in half a minute."""
    from leasehold.runtime import limits
    from leasehold.store.db import limits as store_limits

    vars(limits).update(THREAD_REST_SECONDS=seconds, CONNECTION_REST_SECONDS=seconds)
    vars(store_limits).update(NOTIFIER_REST_SECONDS=seconds)


def count_statements(path: str, words: str) -> None:
    """Write a line for each statement with these words, as SQLite sees it."""
    import apsw

    lines = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def saw(event):
        if words in event["sql"]:
            os.write(lines, words.encode() + b"\n")

    # SQLite's own trace: the engine takes the ones of apsw's Python layer off its cursors.
    apsw.connection_hooks.append(lambda connection: connection.trace_v2(apsw.SQLITE_TRACE_STMT, saw))


if __name__ == "__main__":
    main()
