"""Whether a process has stopped, and whether it did so in the middle of a transaction."""

import threading
from pathlib import Path

import apsw

from tests.support.db import connected, rows


def has_stopped(pid: int) -> bool:
    """Whether every thread has come to a halt: a signal is sent at once and heard a little later."""
    states = [path.read_text().rpartition(")")[2].split()[0] for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return set(states) == {"T"}


def holds_the_file(url: str) -> bool:
    """Whether somebody keeps the one lock that SQLite has for writing."""
    with connected(url) as connection:
        connection.set_busy_timeout(500)
        try:
            connection.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            return True
        connection.execute("ROLLBACK")
    return False


def holds_a_transaction(url: str) -> bool:
    """Whether somebody has left a transaction of PostgreSQL open for longer than a statement takes."""
    query = "SELECT 1 FROM pg_stat_activity WHERE state LIKE 'idle in%' AND clock_timestamp() - state_change > '0.3 s'"
    pause = threading.Event()
    return any(rows(url, query) or pause.wait(0.1) for _ in range(4))
