"""Starts worker processes quickly: one process that has imported everything and forks when it is told.

`python -m tests.support.processes.chaos_server` reads one order a line from its standard input and answers each with
one line. A child is an ordinary process of its own, with its own log; it is killed when the nursery ends, however that
comes about. Its number is not given to another process before the nursery was asked what became of it.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from tests.support.processes.workers import ROOT
from tests.support.wait import until

PARENT_DEATH = 1  # of prctl: which signal to get when the parent is gone
STARTED = "worker_started"
PRELOADED = (
    "psycopg",
    "tests.support.apps.chaos",
    "tests.chaos.once",
    "tests.chaos.submit",
    "leasehold.store.db.postgres",
)


class Child:
    """One process that the nursery started. `ends_by_itself`: it need not be told to."""

    def __init__(self, nursery: Nursery, order: dict[str, Any], *, ends_by_itself: bool) -> None:
        self.nursery = nursery
        self.environment: dict[str, str] = order["environment"]
        self.pid: int = nursery.ask(order)
        self._log = Path(order["log"])
        self._ends_by_itself = ends_by_itself
        self._got: set[signal.Signals] = set()
        self._code: int | None = None

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def running(self) -> bool:
        if self._code is None:
            self._code = self.nursery.ask({"code": self.pid})
        return self._code is None

    def signal(self, number: signal.Signals) -> None:
        if self.running:
            self._got.add(number)
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.end()

    def end(self, timeout: float = 60) -> int:
        """Wait for the end and return the exit code; of a signal, its number below zero."""
        until(lambda: not self.running, timeout=timeout)
        assert self._code is not None
        return self._code

    @property
    def is_wayward(self) -> bool:
        """Whether it has ended as nobody told it to."""
        return not self.running and self._code not in self._codes()

    @property
    def last_words(self) -> str:
        """How it ended, and what it said before."""
        return f"process {self.pid} ended with {self._code} by itself:\n{self.log[-2_000:]}"

    def _codes(self) -> set[int]:
        """Return the codes that it may have ended with."""
        found = {0} if self._ends_by_itself else set()
        if signal.SIGKILL in self._got:
            found.add(-signal.SIGKILL)
        if signal.SIGTERM in self._got:
            found.add(0)
            if STARTED not in self.log:  # it had not come so far as to hear of it
                found.add(-signal.SIGTERM)
        return found


class Nursery:
    """The process that forks, and all that it started."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.children: list[Child] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.processes.chaos_server"],
            cwd=ROOT,
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(
        self, module: str, argument: str, *, environment: dict[str, str], log: Path, ends_by_itself: bool = False
    ) -> Child:
        """Fork a process that runs the module's `main`."""
        order = {"module": module, "arguments": [argument], "environment": environment, "log": str(log)}
        child = Child(self, order, ends_by_itself=ends_by_itself)
        self.children.append(child)
        return child

    def ask(self, order: dict[str, Any]) -> Any:
        """Give an order and return the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        for child in self.children:
            child.kill()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()


def main() -> None:
    for name in PRELOADED:
        importlib.import_module(name)
    for line in sys.stdin:
        order = json.loads(line)
        sys.stdout.write(json.dumps(_obey(order)) + "\n")
        sys.stdout.flush()


def _obey(order: dict[str, Any]) -> Any:
    if "clock" in order:
        return time.time()
    return _code_of(order["code"]) if "code" in order else _fork(order)


def _code_of(pid: int) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _fork(order: dict[str, Any]) -> int:
    pid = os.fork()
    return pid or _live(order)


def _live(order: dict[str, Any]) -> NoReturn:
    """Be the new process, and never come back from it."""
    ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGKILL)
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for own, standard in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(own, standard)
    os.environ.update(order["environment"])
    sys.argv[1:] = order["arguments"]
    code = 1
    try:
        importlib.import_module(order["module"]).main()
        code = 0
    except BaseException:  # noqa: BLE001 — said in its log, and by its exit code
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
