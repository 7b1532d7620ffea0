"""Removes a server's processes and folder when the tests that own it are gone, however they went.

Runs next to each server as `python guard.py FOLDER`, with a pipe as its standard input that nobody writes to.
The pipe closes when the owner closes it or dies; then whatever is still there is stopped and removed.
"""

import contextlib
import shutil
import signal
import sys
from pathlib import Path

import psutil


def main(folder: Path) -> None:
    sys.stdin.read()
    for process in _processes_inside(folder):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGQUIT)  # PostgreSQL's immediate shutdown: it removes its shared memory
    for process in _processes_inside(folder):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
            process.wait(timeout=30)
    shutil.rmtree(folder, ignore_errors=True)


def _processes_inside(folder: Path) -> list[psutil.Process]:
    """A PostgreSQL process works inside its data folder, so nothing else can be hit by a reused number."""
    return [
        process
        for process in psutil.process_iter(["cwd"])
        if process.info["cwd"] and Path(process.info["cwd"]).is_relative_to(folder)
    ]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
