"""Starts one worker process: `python -m tests.workshop.start '{"concurrency": 5}'`. Notices go to standard error."""

import json
import logging
import os
import sys

from leasehold.redact import register


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if trace := os.environ.get("WORKSHOP_TRACE"):
        count_transactions(trace)
    if secret := os.environ.get("WORKSHOP_SECRET"):
        register(secret)
    from tests.workshop.app import app

    app.work(**json.loads(sys.argv[1]))


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
