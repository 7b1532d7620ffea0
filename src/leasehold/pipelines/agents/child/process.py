"""Starts a command, never through a shell, under a guard that ends its whole tree.

The guard (`leasehold.process_tree`) lives in processes of its own. It kills everything below the command when the
command ends, when it is asked to, and when this process dies, even by SIGKILL. What it cannot end: a process that the
command has started through somebody else, such as a service manager or a container engine, and one that kills all of
its guards on purpose, which a process of the same user may do.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from leasehold import process_tree
from leasehold.errors import Misuse, Unavailable
from leasehold.pipelines.agents.limits import GRACE_SECONDS, GUARD_SECONDS

# What most programs need to run at all; the plan allows everything else by name.
FIXED_VARIABLES: Final = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "USER", "LOGNAME")


class ChildNotStarted(Misuse, code="URM_CHILD_NOT_STARTED"):
    """The command could not be started."""


class GuardLost(Unavailable, code="URM_CHILD_GUARD_LOST"):
    """The process that starts and guards commands has ended; the next start makes a new one."""


def child_environment(allowed: Iterable[str], source: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that a child gets: a fixed few, and those that its plan allows, if they are set."""
    variables = os.environ if source is None else source
    names = dict.fromkeys((*FIXED_VARIABLES, *allowed))
    return {"PATH": os.defpath, **{name: variables[name] for name in names if name in variables}}


@dataclass(frozen=True, slots=True)
class ChildCommand:
    """What is started: where, with which environment, and how long it may take between SIGTERM and SIGKILL."""

    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=lambda: child_environment(()), repr=False)
    grace: float = GRACE_SECONDS

    def encode(self) -> bytes:
        fields = {"argv": self.argv, "folder": str(self.folder), "grace": self.grace}
        # The standard encoder, because a variable that is not UTF-8 is a lone surrogate here.
        return json.dumps({**fields, "environment": dict(self.environment)}).encode("ascii")


class ChildStarter:
    """Starts commands through one guard server, which is started with the first. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def start(self, command: ChildCommand) -> ChildProcess:
        """Start a command. Whether its program could be executed is known when it has ended."""
        child = ChildProcess(command.grace)
        try:
            with tempfile.TemporaryFile() as order:
                order.write(command.encode())
                order.flush()
                order.seek(0)
                self._send([order.fileno(), *child.theirs])
        except BaseException:
            child.close()
            raise
        finally:
            child.close_theirs()
        return child

    def _send(self, descriptors: list[int]) -> None:
        with self._lock:
            try:
                socket.send_fds(self._connected(), [b"x"], descriptors)
            except OSError:  # the server has ended: what it started goes on under its guards
                self._disconnect()
                self._send_again(descriptors)

    def _send_again(self, descriptors: list[int]) -> None:
        try:
            socket.send_fds(self._connected(), [b"x"], descriptors)
        except OSError as error:
            raise GuardLost(f"{error.strerror}.") from error

    def _connected(self) -> socket.socket:
        if self._requests is None:
            self._requests, theirs = socket.socketpair()
            with theirs:
                self._server = subprocess.Popen(
                    [sys.executable, "-I", "-S", process_tree.__file__, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,  # all three are taken, so that no received descriptor gets their number
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,  # Ctrl-C is for the coordinator alone
                    env={},
                    cwd="/",
                )
        return self._requests

    def _disconnect(self) -> None:
        if self._requests is not None:
            self._requests.close()
            self._requests = None
        if self._server is not None:
            self._server.wait()
            self._server = None

    def close(self) -> None:
        with self._lock:
            self._disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class TreeEnd:
    """How a command ended, when everything below it was gone. No code: its guard was killed."""

    code: int | None = None
    memory_kb: int = 0


class ChildProcess:
    """One started command: its pipes, which do not block, and the two sockets to its guard."""

    def __init__(self, grace: float) -> None:
        self._grace = grace
        stdin, self.stdin = os.pipe()
        self.stdout, stdout = os.pipe()
        self.stderr, stderr = os.pipe()
        self._life, self._their_life = socket.socketpair()
        self.report, self._their_report = socket.socketpair()
        self._their_pipes = [stdin, stdout, stderr]
        for descriptor in (self.stdin, self.stdout, self.stderr, self.report.fileno()):
            os.set_blocking(descriptor, False)
        self._reported = b""
        self._overdue_at: float | None = None

    @property
    def theirs(self) -> list[int]:
        return [*self._their_pipes, self._their_life.fileno(), self._their_report.fileno()]

    def close_theirs(self) -> None:
        for descriptor in self._their_pipes:
            os.close(descriptor)
        self._their_pipes = []
        self._their_life.close()
        self._their_report.close()

    def terminate(self) -> None:
        """Send SIGTERM to everything below; what is left after the grace is killed by the guard."""
        if self._overdue_at is None:
            self._overdue_at = time.monotonic() + self._grace + GUARD_SECONDS
            with suppress(OSError):
                self._life.send(b"x")

    def kill(self) -> None:
        """Kill everything below at once."""
        if self._life.fileno() >= 0:
            self._overdue_at = time.monotonic() + GUARD_SECONDS
            self._life.close()

    def check_guard(self) -> None:
        """Kill everything from here if the guard is overdue, as when it was stopped itself."""
        if self._overdue_at is not None and time.monotonic() > self._overdue_at:
            for guard in self._numbers("guard"):
                process_tree.send_all({guard, *process_tree.descendants(guard)}, signal.SIGKILL)

    def take_report(self) -> TreeEnd | None:
        """Return how it ended, None while it runs. Raises `ChildNotStarted` if the program could not be executed."""
        try:
            more = self.report.recv(256)
        except BlockingIOError:
            return None
        self._reported += more
        if more:
            return None
        if failed := self._numbers("failed"):
            raise ChildNotStarted(f"{os.strerror(failed[0])}.")
        return TreeEnd(*self._numbers("exit"))

    def _numbers(self, word: str) -> list[int]:
        """Return the numbers that were reported after a word; none, if it was not reported."""
        lines = (line.split() for line in self._reported.decode("ascii", "replace").splitlines())
        return next((list(map(int, line[1:])) for line in lines if line and line[0] == word), [])

    def close_stdin(self) -> None:
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def close(self) -> None:
        """Close every descriptor; what still runs is killed by that."""
        self.close_stdin()
        for descriptor in (self.stdout, self.stderr):
            if descriptor >= 0:
                os.close(descriptor)
        self.stdout = self.stderr = -1
        self._life.close()
        self.report.close()
