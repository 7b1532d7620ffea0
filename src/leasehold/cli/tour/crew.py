"""The tour's worker processes: real ones, started, killed and replaced; none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

CONCURRENCY: Final = 2
STOP_SECONDS: Final = 20.0
COMMAND: Final = ("-m", "leasehold", "worker", "leasehold.cli.tour.app:app", "--concurrency", str(CONCURRENCY))


class Crew:
    """Starts workers in this environment; `log` gets all they say."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        self._environment = {**os.environ, **environment}
        self._log = log
        self._workers: list[subprocess.Popen[bytes]] = []

    def start(self, number: int = 1) -> list[int]:
        """Start workers and return their process ids."""
        with self._log.open("ab") as log:
            started = [
                subprocess.Popen(
                    [sys.executable, "-P", *COMMAND],
                    env=self._environment,
                    stdin=subprocess.PIPE,  # a worker ends when the other end of this pipe does
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C is for the tour alone
                )
                for _ in range(number)
            ]
        self._workers += started
        return [worker.pid for worker in started]

    def pids(self) -> list[int]:
        """Return the workers' process ids, the oldest first."""
        return [worker.pid for worker in self._workers]

    def kill(self, pid: int) -> None:
        """End a worker the hard way."""
        worker = next(worker for worker in self._workers if worker.pid == pid)
        self._workers.remove(worker)
        _end(worker)

    def deserters(self) -> list[int]:
        """Return the exit codes of workers that ended though nobody told them to."""
        return [worker.returncode for worker in self._workers if worker.poll() is not None]

    def dismiss(self) -> list[int]:
        """Have all workers finish; return their exit codes."""
        for worker in self._workers:
            worker.send_signal(signal.SIGTERM)
        try:
            return [worker.wait(STOP_SECONDS) for worker in self._workers]
        except subprocess.TimeoutExpired:
            return [-signal.SIGKILL]
        finally:
            self.close()

    def close(self) -> None:
        """Leave no worker behind."""
        while self._workers:
            _end(self._workers.pop())


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    worker.wait()
    if worker.stdin is not None:
        worker.stdin.close()
