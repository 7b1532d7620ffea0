"""Worker processes for tests: started, stopped, killed and always cleared away; and what their handlers wrote down."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from leasehold import Leasehold
from tests.support.databases.postgres import PostgresServer
from tests.support.processes.fork_server import Process, Stream, start_module
from tests.support.wait import until


class WorkerProcess:
    """One worker process."""

    def __init__(self, process: Process, log: Path) -> None:
        self._process = process
        self._log = log
        self.pid = process.pid
        self.system = psutil.Process(process.pid)

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def has_logged(self, word: str) -> bool:
        """Whether the process has logged this; if it ended instead, raise with its log."""
        if word not in self.log and not self.running:
            raise RuntimeError(f"the worker ended with {self._process.returncode}:\n{self.log[-4000:]}")
        return word in self.log

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(timeout=60)

    def end(self) -> int:
        """Wait for the end and return the exit code."""
        return self._process.wait(timeout=60)


@contextlib.contextmanager
def command_process(
    words: Sequence[str], log: Path, *, env: Mapping[str, str] | None = None, terminal: Stream = None
) -> Iterator[WorkerProcess]:
    """Run `leasehold …` as a process until the block ends. `terminal`: where its errors go instead of the log."""
    with log.open("wb") as output:
        errors = output if terminal is None else terminal
        process = start_module("leasehold", *words, env=env, stdout=output, stderr=errors)
    command = WorkerProcess(process, log)
    try:
        yield command
    finally:
        if command.running:
            command.kill()


class WorkerGroup:
    """The worker processes of one test, on one database."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.started: list[WorkerProcess] = []

    def start(self, *, environment: dict[str, str] | None = None, **options: object) -> WorkerProcess:
        """Start a worker and return when it takes work."""
        worker = self.run("tests.support.processes.start", json.dumps(options), environment=environment)
        until(lambda: worker.has_logged("worker_started"))
        return worker

    def orchestrate(self) -> WorkerProcess:
        """Start a process that does upkeep and runs no tasks."""
        return self.run("tests.support.processes.orchestrate")

    def run(self, module: str, *arguments: str, environment: dict[str, str] | None = None) -> WorkerProcess:
        """Start a Python module as a process of this group."""
        log = self.folder / f"worker-{len(self.started)}.log"
        known = {"LEASEHOLD_URL": self.url, "WORKSHOP_FOLDER": str(self.folder)}
        with log.open("wb") as lines:
            environment = os.environ | known | (environment or {})
            process = start_module(module, *arguments, env=environment, stdout=lines, stderr=lines)
        worker = WorkerProcess(process, log)
        self.started.append(worker)
        return worker

    def open(self, name: str) -> None:
        """Let the handlers pass that wait at this gate."""
        (self.folder / f"gate-{name}").touch()

    def journal(self, *start: object) -> list[list[str]]:
        """Return the lines that begin with these words."""
        path = self.folder / "journal"
        wanted = [str(word) for word in start]
        lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        return [line for line in lines if line[: len(wanted)] == wanted]

    def close(self) -> None:
        for worker in self.started:
            if worker.running:
                worker.kill()


@pytest.fixture
def workers(url, tmp_path) -> Iterator[WorkerGroup]:
    folder = tmp_path / "workshop"
    folder.mkdir()
    with contextlib.closing(WorkerGroup(url, folder)) as workers:
        yield workers


@pytest.fixture
def app(url) -> Iterator[Leasehold]:
    """An app in the test's own process, on the same database as the workers."""
    with contextlib.closing(Leasehold(url)) as app:
        yield app


@dataclass(frozen=True, slots=True)
class Outpost:
    """A PostgreSQL server that may be stopped, with workers and an app of its own."""

    server: PostgresServer
    workers: WorkerGroup
    app: Leasehold


@pytest.fixture
def outpost(private_postgres, tmp_path) -> Iterator[Outpost]:
    server = private_postgres()
    url = server.create_database()
    folder = tmp_path / "workshop"
    folder.mkdir()
    with contextlib.closing(Leasehold(url)) as app, contextlib.closing(WorkerGroup(url, folder)) as workers:
        app.migrate()
        yield Outpost(server, workers, app)
