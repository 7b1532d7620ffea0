"""Starts Python modules quickly: they are forked from a process that has imported what most of them import.

`start_module` starts one, `run_module` waits for its end.

A forked module is a process of its own either way: it has its number, streams, environment and folder, and it can be
killed. A module whose environment an interpreter or a library reads only at its start (LD_PRELOAD, FAKETIME, PYTHON…)
is started as a new interpreter; so is every module if LEASEHOLD_TEST_STARTS=real. A test of the start itself (how long
it takes, what it imports) and a program that is no module use `subprocess`.

The order of sets is the same in all that one server has forked. Nothing outlives this process: see `fork_child.py`.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

from tests.support.processes import fork_child

ROOT: Final = Path(__file__).parents[3]
STARTS_NAME: Final = "LEASEHOLD_TEST_STARTS"
PATHS_NAME: Final = "PYTHONPATH"
END_SECONDS_MAX: Final = 60
RUN_SECONDS_MAX: Final = 600  # a guard against hanging
# What an interpreter, or a module that the server has imported, reads when it starts and not again.
READ_AT_START: Final = (
    *("COVERAGE_", "FAKETIME", "FTLANG_", "GLIBC_", "LANG", "LC_", "LD_", "MALLOC_", "PSYCOPG_", "PYTHON"),
    *("TEMP", "TMP"),
)


class ForkServer:
    """The process that forks. Any thread may ask it; it answers one question at a time."""

    def __init__(self) -> None:
        self.environment = dict(os.environ)
        self._owner_pid = os.getpid()
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            words = [sys.executable, "-m", fork_child.__name__, str(theirs.fileno()), str(os.getpid())]
            self.process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        atexit.register(self.close)

    def ask(self, order: Mapping[str, Any], streams: Sequence[int] = ()) -> Any:
        """Send an order and the files that belong to it, and return the answer."""
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(order).encode()], streams)
            if not (answer := self._socket.recv(fork_child.ORDER_BYTES_MAX)):
                raise ChildProcessError("the fork server is gone, and every process that it has forked")
            return json.loads(answer)

    def is_alike(self, environment: Mapping[str, str]) -> bool:
        """Whether an interpreter starts in this environment as the server did; that it finds the tests may differ."""
        names = {name for name in {**environment, **self.environment} if name.startswith(READ_AT_START)}
        changed = {name for name in names if environment.get(name) != self.environment.get(name)}
        paths = {known.get(PATHS_NAME, "") for known in (environment, self.environment)}
        return not changed or (changed == {PATHS_NAME} and paths == {"", str(ROOT)})

    def close(self) -> None:
        """End the server, which kills what it has forked."""
        if self._owner_pid == os.getpid():
            self._socket.close()
            self.process.wait(timeout=END_SECONDS_MAX)


class ForkedProcess:
    """A process that the server forked, with the words of `subprocess.Popen`."""

    def __init__(self, server: ForkServer, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server = server

    def poll(self) -> int | None:
        """Return the exit code, or None. Until it was returned once, no other process gets this number."""
        if self.returncode is None:
            self.returncode = self._server.ask({"code_of": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.poll() is None and not _has_ended(self.pid, timeout):
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Process: TypeAlias = ForkedProcess | subprocess.Popen[bytes]
Stream: TypeAlias = int | IO[Any] | None


def start_module(
    module: str,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    stdin: Stream = subprocess.DEVNULL,
    stdout: Stream = None,
    stderr: Stream = None,
    start_new_session: bool = False,
) -> Process:
    """Start `python -m module …`, forked if that makes no difference. Streams are files, or None for those of here."""
    environment = dict(os.environ if env is None else env)
    if os.environ.get(STARTS_NAME) == "real" or not fork_server().is_alike(environment):
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env=environment,
            cwd=cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=start_new_session,
        )
    order = {
        "module": module,
        "arguments": arguments,
        "environment": environment,
        "folder": str(cwd),
        "is_leader": start_new_session,
    }
    with Path(os.devnull).open("r+b", buffering=0) as nothing:
        streams = [_descriptor(stream, own, nothing) for own, stream in enumerate((stdin, stdout, stderr))]
        return ForkedProcess(fork_server(), fork_server().ask(order, streams))


def run_module(
    module: str,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    stdout: Stream = None,
    encoding: str = "utf-8",
) -> subprocess.CompletedProcess[str]:
    """Run `python -m module …` to its end and return what it printed; `stdout` is where its output goes instead."""
    with (
        tempfile.TemporaryFile("w+", encoding=encoding) as output,
        tempfile.TemporaryFile("w+", encoding=encoding) as errors,
    ):
        process = start_module(
            module, *arguments, env=env, cwd=cwd, stdout=output if stdout is None else stdout, stderr=errors
        )
        try:
            code = process.wait(RUN_SECONDS_MAX)
        except BaseException:
            process.kill()
            process.wait()
            raise
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess([module, *arguments], code, output.read(), errors.read())


def _descriptor(stream: Stream, own: int, nothing: IO[bytes]) -> int:
    if stream is None:
        return own
    if stream == subprocess.DEVNULL:
        return nothing.fileno()
    return stream if isinstance(stream, int) else stream.fileno()


@functools.cache
def fork_server() -> ForkServer:
    """Return the server of this process, which is started with the first module."""
    return ForkServer()


def _has_ended(pid: int, timeout: float | None) -> bool:
    """Wait for the end of a process whose exit code nobody has asked for."""
    descriptor = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(None if timeout is None else timeout * 1_000))
    finally:
        os.close(descriptor)
