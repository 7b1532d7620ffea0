"""Processes of a peer that are spoken to: one client that submits, workers that run until they are killed."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Self

from bench.compare.install import command, home
from bench.compare.peers import Peer
from bench.compare.place import Place

ANSWER_SECONDS = 120
Environment = tuple[tuple[str, str], ...]


class RoleFailed(Exception):
    """A process of a peer ended, or was silent, where an answer was due."""


@dataclass(frozen=True, slots=True)
class Start:
    """A job that was seen to start, and where."""

    at: int
    kind: str
    worker: Worker


class Role:
    """One process, and its messages."""

    def __init__(self, peer: Peer, place: Place, *role: str, environment: Environment = ()) -> None:
        self.peer = peer
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        surroundings = os.environ | {"PEER_URL": place.url} | dict(peer.environment) | dict(environment)
        if not peer.is_ours:
            surroundings["PEER_HOME"] = str(home(peer))
        try:
            self._process = subprocess.Popen(
                command(peer, *role),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=surroundings,
                text=True,
            )
        except OSError as failure:
            self._errors.close()
            raise RoleFailed(f"{peer.name} cannot be started: {failure.strerror}") from None
        self.answers: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def ask(self, timeout: float = ANSWER_SECONDS, **command: object) -> dict[str, Any]:
        """Send a command and return the answer."""
        self.send(**command)
        return self.answer(timeout)

    def send(self, **command: object) -> None:
        """Send a command that has no answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise RoleFailed(self.reason()) from None

    def answer(self, timeout: float = ANSWER_SECONDS) -> dict[str, Any]:
        """Return the next answer."""
        try:
            found = self.answers.get(timeout=timeout)
        except Empty:
            raise RoleFailed(f"{self.peer.name} was silent for {timeout:.0f} s") from None
        if found is None:
            raise RoleFailed(self.reason())
        return found

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def reason(self) -> str:
        """Return the last thing the process complained about."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines() or ["without a word"]
        return f"{self.peer.name} ended ({self._process.poll()}): {lines[-1]}"

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                _close(stream)

    def receive(self, message: dict[str, Any]) -> None:
        """Take a message of the process."""
        self.answers.put(message)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with suppress(ValueError):  # closed while a line was being read
            for line in filter(_is_spoken, self._process.stdout):
                self.receive(json.loads(line))
        self.answers.put(None)


def _is_spoken(line: str) -> bool:
    """Whether a line is a message, and not something that a peer prints."""
    return line.startswith("{")


def _close(stream: Any) -> None:
    with suppress(BrokenPipeError):  # what was still to be sent to a process that is gone
        stream.close()


class Worker(Role):
    """A process that runs jobs; `started` is shared with those that wait for jobs to start."""

    def __init__(
        self, peer: Peer, place: Place, mode: str, started: SimpleQueue[Start], environment: Environment = ()
    ) -> None:
        self.ran = 0
        self.first = 0
        self._started = started
        super().__init__(peer, place, "worker", mode, environment=environment)

    def receive(self, message: dict[str, Any]) -> None:
        """Keep counts and starts; the rest is an answer."""
        if "ran" in message:
            self.ran, self.first = message["ran"], message["first"]
        elif "started" in message:
            self._started.put(Start(message["started"], message["kind"], self))
        else:
            super().receive(message)


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """Workers that were let go together."""

    workers: list[Worker]
    started: SimpleQueue[Start]

    @property
    def ran(self) -> int:
        """How many jobs ran."""
        return sum(worker.ran for worker in self.workers)

    @property
    def first(self) -> int:
        """When the first job started; 0 if none did."""
        return min((worker.first for worker in self.workers if worker.first), default=0)

    def check(self) -> None:
        """Raise if one of them is gone."""
        for worker in self.workers:
            if not worker.alive:
                raise RoleFailed(worker.reason())


@contextmanager
def client(peer: Peer, place: Place, *, is_fresh: bool = True) -> Iterator[Role]:
    """Have a process that submits, on a place that is set up."""
    with Role(peer, place, "client") as role:
        if is_fresh:
            role.ask(do="setup")
        yield role


@contextmanager
def start_workers(
    peer: Peer, place: Place, processes: int, mode: str, environment: Environment = (), count: int = 0
) -> Iterator[WorkerGroup]:
    """Have workers that all started at the same moment; `count` is for those that start their jobs themselves."""
    started: SimpleQueue[Start] = SimpleQueue()
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(peer, place, mode, started, environment)) for _ in range(processes)]
        for worker in workers:
            worker.answer()
        for worker in workers:
            worker.send(go=count)
        yield WorkerGroup(workers, started)
