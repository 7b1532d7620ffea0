"""The processes of a storm: workers and the submitter, each with a log of its own."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from tests.support.processes.fork_server import start_module
from tests.support.wait import until

JOBS_MAX = 1_000_000
CONCURRENCY = 4
WORK = "tests.chaos.storm_worker"
SUBMIT = "tests.chaos.submit"
STARTED = "worker_started"


class StormProcess:
    """One process of a storm. `ends_by_itself`: it may end without a signal."""

    def __init__(
        self, module: str, argument: str, environment: dict[str, str], log: Path, *, ends_by_itself: bool
    ) -> None:
        with log.open("ab") as lines:
            self._process = start_module(module, argument, env=environment, stdout=lines, stderr=lines)
        self.pid = self._process.pid
        self._log = log
        self._ends_by_itself = ends_by_itself
        self._sent: set[signal.Signals] = set()

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        if self.running:
            self._sent.add(number)
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.end()

    def end(self, timeout: float = 60) -> int:
        """Wait for the end and return the exit code; of a signal, its number below zero."""
        until(lambda: not self.running, timeout=timeout)
        return self._process.wait()

    @property
    def has_failed(self) -> bool:
        """Whether it has ended with a code that nothing sent to it explains."""
        return not self.running and self._process.returncode not in self._expected_codes()

    @property
    def failure(self) -> str:
        """How it ended, and the end of its log."""
        return f"process {self.pid} ended with {self._process.returncode} by itself:\n{self.log[-2_000:]}"

    def _expected_codes(self) -> set[int]:
        found = {0} if self._ends_by_itself else set()
        if signal.SIGKILL in self._sent:
            found.add(-signal.SIGKILL)
        if signal.SIGTERM in self._sent:
            found.add(0)
            if STARTED not in self.log:  # it had not yet installed its signal handlers
                found.add(-signal.SIGTERM)
        return found


class StormProcesses:
    """All processes of one storm. `environment`: what all of them get."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.all: list[StormProcess] = []
        self._folder = folder
        self._environment = environment
        self._own_environments: dict[int, dict[str, str]] = {}
        self._submitters: list[StormProcess] = []
        self._known_good: set[StormProcess] = set()

    def start_worker(self, environment: dict[str, str] | None = None) -> StormProcess:
        """Start a worker, without waiting for it."""
        return self._start(WORK, json.dumps({"concurrency": CONCURRENCY}), environment, ends_by_itself=False)

    def replace(self, process: StormProcess) -> StormProcess:
        """Start a worker with the environment of this one."""
        return self.start_worker(self.environment_of(process))

    def start_submitter(self, environment: dict[str, str] | None = None) -> StormProcess:
        """Start the submitter; it resumes where the one before ended."""
        self._submitters.append(self.run(SUBMIT, str(JOBS_MAX), environment))
        return self.submitter

    def run(self, module: str, argument: str, environment: dict[str, str] | None = None) -> StormProcess:
        """Start a process that ends by itself."""
        return self._start(module, argument, environment, ends_by_itself=True)

    def environment_of(self, process: StormProcess) -> dict[str, str]:
        """Return what a process was given on top of what all of them get."""
        return self._own_environments[process.pid]

    def _start(
        self, module: str, argument: str, environment: dict[str, str] | None, *, ends_by_itself: bool
    ) -> StormProcess:
        own = environment or {}
        log = self._folder / f"process-{len(self.all)}.log"
        everything = os.environ | self._environment | own
        process = StormProcess(module, argument, everything, log, ends_by_itself=ends_by_itself)
        self._own_environments[process.pid] = own
        self.all.append(process)
        return process

    @property
    def workers(self) -> list[StormProcess]:
        """The workers that are running."""
        return [process for process in self.all if process.running and process not in self._submitters]

    @property
    def submitter(self) -> StormProcess:
        return self._submitters[-1]

    def failures(self) -> list[str]:
        """Describe every process that has ended with a code that nothing sent to it explains."""
        found = []
        for process in self.all:
            if process in self._known_good or process.running:
                continue
            if process.has_failed:
                found.append(process.failure)
            else:
                self._known_good.add(process)
        return found

    def close(self) -> None:
        for process in self.all:
            process.kill()
