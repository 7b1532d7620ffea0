"""A process of somebody else that has a read transaction of a SQLite file open."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PROGRAM = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN")
connection.execute("SELECT count(*) FROM meta").fetchall()
print("reading", flush=True)
sys.stdin.read()
"""


@contextmanager
def long_reader(url: str) -> Iterator[subprocess.Popen[str]]:
    """Have another process read one snapshot until it is killed."""
    command = [sys.executable, "-c", PROGRAM, url.removeprefix("sqlite:///")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "reading\n"
            yield process
        finally:
            process.kill()
