"""The worker processes of a command: start them, watch them, stop them. None outlives its command.

Standard input of a worker is a pipe that only the command holds open: when the command ends, even by SIGKILL, the
worker sends itself SIGTERM. Ctrl-C and SIGTERM only set a flag, which the command checks between two steps; a second
signal kills the workers, a third one interrupts the command.

A new interpreter needs half a second to import the engine; a forked worker has the modules of its command, so the
command line forks its workers first (`forked_processes`), before it has a thread or a connection: only then is it safe.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType
from typing import IO, Any, Final, NoReturn, Self

from leasehold.errors import Unavailable
from leasehold.limits import EXIT_POLL_SECONDS, GRACE_SECONDS, KILL_SECONDS, STOP_POLL_SECONDS

SIGNALS_UNTIL_KILL: Final = 2
ORDER_BYTES: Final = 64 * 1024  # that are read at once
FAILED: Final = 1
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
SignalHandler = Callable[[int, FrameType | None], object]


class WorkersEnded(Unavailable, code="WORKERS_ENDED"):
    """Every worker process has ended though something is left to do."""


class Stop:
    """A request to stop: the number of the last signal, None without one, and how many came.

    Signal handlers take no locks: Python runs them between any two steps of the main thread, also inside a wait that
    holds a lock. An event's `set` takes one; a simple queue may be put into at any moment.
    """

    def __init__(
        self, allowed: int = SIGNALS_UNTIL_KILL, on_excess: SignalHandler = signal.default_int_handler
    ) -> None:
        """`on_excess` handles each signal after so many."""
        self.number: int | None = None
        self.times = 0
        self._allowed = allowed
        self._on_excess = on_excess
        self._received: SimpleQueue[None] = SimpleQueue()

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        self.number = number
        self.times += 1
        self._received.put(None)
        if self.times > self._allowed:
            self._on_excess(number, frame)

    def wait(self, seconds: float = math.inf, every: float = STOP_POLL_SECONDS) -> None:
        """Wait for a signal, at most so long. It looks now and then: the kernel may give one to another thread."""
        deadline = time.monotonic() + seconds
        while self.number is None and (left := deadline - time.monotonic()) > 0:
            with suppress(Empty):
                self._received.get(timeout=min(left, every))


@contextmanager
def stop_on_signals(stop: Stop | None = None) -> Iterator[Stop]:
    """Turn SIGINT and SIGTERM into a request to stop; without effect outside the main thread."""
    stop = stop or Stop()
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, stop) for number in STOP_SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """How a worker process is started: arguments of `leasehold`, additional environment, and its log file."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    log: Path


def worker_arguments(app: str, concurrency: int, *more: str) -> tuple[str, ...]:
    """Return the arguments of `leasehold` for a worker that serves an app."""
    options = ("--log-level", "warning", "--grace", str(GRACE_SECONDS), "--concurrency", str(concurrency))
    return ("worker", app, *options, *more)


class WorkerProcesses:
    """The workers of one command. At the end of the block they are stopped, and killed if they do not stop in time."""

    def __init__(
        self, spec: WorkerSpec, count: int, stop: Stop | None = None, forked: Sequence[ForkedProcess] = ()
    ) -> None:
        """`forked`: processes of `forked_processes` that become workers; the others are new interpreters."""
        self.stop = stop or Stop()
        self.running: list[WorkerProcess] = []
        self.waiting = list(forked)
        self.have_started = False
        self._spec = spec
        self._count = count

    def start(self) -> None:
        """Let every worker begin, unless they have or somebody wants an end."""
        if self.running or self.stop.number is not None:
            return
        self.have_started = True
        for worker in self.waiting:
            worker.begin(self._spec)
        self.running, self.waiting = [*self.waiting], []
        while len(self.running) < self._count:
            self.start_one()

    def start_one(self) -> WorkerProcess:
        self._spec.log.parent.mkdir(parents=True, exist_ok=True)
        with self._spec.log.open("ab") as log:
            worker = subprocess.Popen(
                [sys.executable, "-P", "-m", "leasehold.processes", *self._spec.arguments],
                env={**os.environ, **self._spec.environment},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the command alone
            )
        self.running.append(worker)
        return worker

    @property
    def exit_codes(self) -> list[int]:
        return [code for worker in self.running if (code := worker.poll()) is not None]

    def check(self) -> None:
        """Raise if no worker is left."""
        if len(self.exit_codes) == len(self.running):
            raise WorkersEnded(f"See {self._spec.log}, and run the same command again.")

    def kill(self, worker: WorkerProcess) -> None:
        self.running.remove(worker)
        self._stop([worker], seconds=0)

    def stop_all(self, seconds: float = KILL_SECONDS) -> list[int]:
        """Stop all workers, those that wait too, and return the exit codes of those that ran."""
        self._stop([*self.running, *self.waiting], seconds)
        codes = self.exit_codes
        self.running, self.waiting = [], []
        return codes

    def _stop(self, workers: Sequence[WorkerProcess], seconds: float) -> None:
        """Send SIGTERM; send SIGKILL to all when the time is over or the second signal has come."""
        for worker in workers if seconds else ():
            worker.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + seconds
        while any(worker.poll() is None for worker in workers):
            if self.stop.times >= SIGNALS_UNTIL_KILL or time.monotonic() >= deadline:
                for worker in workers:
                    worker.send_signal(signal.SIGKILL)
            time.sleep(EXIT_POLL_SECONDS)
        for worker in workers:
            if worker.stdin is not None:
                worker.stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_all()


@contextmanager
def forked_processes(count: int) -> Iterator[list[ForkedProcess]]:
    """Fork processes that wait to become workers; none where that is not safe. Those that did not begin are killed."""
    forked: list[ForkedProcess] = []
    try:
        if threading.active_count() == 1 and hasattr(os, "fork"):
            for _ in range(count):
                forked.append(ForkedProcess(forked))
        yield forked
    finally:
        for process in forked:
            process.kill_unless_begun()


class ForkedProcess:
    """A process forked from this one that waits for `begin`."""

    def __init__(self, siblings: Sequence[ForkedProcess]) -> None:
        reader, writer = os.pipe()
        self.stdin: IO[bytes] = os.fdopen(writer, "wb", buffering=0)
        self.returncode: int | None = None
        self.has_begun = False
        self.pid = os.fork()
        if self.pid == 0:
            for worker in (self, *siblings):  # a pipe that a sibling holds open would not close with the command
                worker.stdin.close()
            _run_forked(reader)
        os.close(reader)

    def begin(self, spec: WorkerSpec) -> None:
        self.has_begun = True
        with suppress(BrokenPipeError):
            self.stdin.write(json.dumps({**asdict(spec), "log": str(spec.log)}).encode() + b"\n")

    def kill_unless_begun(self) -> None:
        if not self.has_begun:
            self.send_signal(signal.SIGKILL)
            self.stdin.close()
            while self.poll() is None:
                time.sleep(EXIT_POLL_SECONDS)

    def poll(self) -> int | None:
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # something else in this process has waited for it
                pid, status = self.pid, FAILED << 8
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


WorkerProcess = subprocess.Popen[bytes] | ForkedProcess


def _read_spec(reader: int) -> WorkerSpec | None:
    """Wait for what `begin` writes; None if the command has ended instead."""
    line = b""
    while not line.endswith(b"\n"):
        if not (more := os.read(reader, ORDER_BYTES)):
            return None
        line += more
    fields = json.loads(line)
    return WorkerSpec(fields["arguments"], fields["environment"], Path(fields["log"]))


def _run_forked(reader: int) -> NoReturn:
    """Be the forked process: wait, then run a worker as a new interpreter would."""
    code = FAILED
    try:
        os.setsid()
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        use_uvloop()  # while the command plans
        if (spec := _read_spec(reader)) is None:
            os._exit(0)
        _redirect(reader, spec.log)
        os.environ.update(spec.environment)
        sys.argv = ["leasehold", *spec.arguments]
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else FAILED if end.code else 0
    except BaseException:  # noqa: BLE001 — it is written to the workers' log
        traceback.print_exc()
    finally:
        exit_flushed(code)


def exit_flushed(code: int) -> NoReturn:
    """End a forked process: write what is buffered, and run nothing that the interpreter runs at its end."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _redirect(reader: int, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for source, target in ((reader, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")


def use_uvloop() -> None:
    """Have this process's event loops made by uvloop, if it is installed: many small files take less time."""
    with suppress(ImportError):
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())


def _follow_command() -> None:
    """Stop this process when the command has closed the pipe, which it never writes to again."""
    with suppress(OSError):
        while os.read(0, 1):
            pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Run `leasehold` in this process, with the arguments of its command line."""
    use_uvloop()
    threading.Thread(target=_follow_command, name="leasehold-follow-command", daemon=True).start()
    runpy.run_module("leasehold", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
