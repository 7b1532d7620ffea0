"""Starts one worker process: `python -m tests.workshop.start '{"concurrency": 5}'`. Notices go to standard error."""

import json
import logging
import os
import sys


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if trace := os.environ.get("WORKSHOP_TRACE"):
        count_transactions(trace)
    from tests.workshop.app import app

    app.work(**json.loads(sys.argv[1]))


def count_transactions(path: str) -> None:
    """Write a line for each transaction that SQLite is asked to begin."""
    import apsw

    lines = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def saw(cursor, statement, bindings):
        if statement.startswith("BEGIN"):
            os.write(lines, statement.encode() + b"\n")
        return True

    apsw.connection_hooks.append(lambda connection: connection.set_exec_trace(saw))


if __name__ == "__main__":
    main()
