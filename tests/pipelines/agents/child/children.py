"""Real child processes for the tests: programs of a few lines, and a run of one with what it printed."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leasehold.pipelines.agents.child.process import ChildCommand, ChildStarter, child_environment
from leasehold.pipelines.agents.child.stopping import StopRequest
from leasehold.pipelines.agents.child.supervisor import ChildConversation, ChildEnd, Supervisor

# Leaves its session twice over two forks, and reports the process that is left; then `waits` forever.
DAEMON = """
import os, signal, sys
def leave(depth, path):
    if os.fork() == 0:
        os.setsid()
        if depth:
            leave(depth - 1, path)
            os._exit(0)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        with open(path + ".new", "w") as file:
            file.write(str(os.getpid()))
        os.rename(path + ".new", path)
        while True:
            signal.pause()
"""


@dataclass
class Kept:
    """A sink that keeps everything; only for children that print little."""

    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)

    def stdout(self, chunk: bytes) -> None:
        self.out += chunk

    def stderr(self, chunk: bytes) -> None:
        self.err += chunk


@dataclass
class Counted:
    """A sink that only counts."""

    size: int = 0
    chunk_max: int = 0

    def stdout(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self.chunk_max = max(self.chunk_max, len(chunk))

    stderr = stdout


def python(text: str, *arguments: str, folder: Path = Path("/"), grace: float = 30) -> ChildCommand:
    """Return the command of a Python program. Its grace is long: who needs it to end early asks for that."""
    argv = (sys.executable, "-I", "-S", "-c", text, *arguments)
    return ChildCommand(argv, folder, child_environment(()), grace)


def supervise(
    command: ChildCommand,
    conversation: ChildConversation | None = None,
    sink: Kept | Counted | None = None,
    stop: StopRequest | None = None,
    starter: ChildStarter | None = None,
) -> ChildEnd:
    """Run one child to its end."""
    own = starter or ChildStarter()
    request = stop or StopRequest()
    try:
        return Supervisor(own.start(command), conversation or ChildConversation(), sink or Kept(), request).run()
    finally:
        if starter is None:
            own.close()
        if stop is None:
            request.close()


def accept(taken: list) -> Callable[[Any], bool]:
    """Return a callback that keeps what it is called with, and agrees."""

    def take(value: Any) -> bool:
        taken.append(value)
        return True

    return take


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie that nobody has collected yet does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(b")")[2].split()[0] not in (b"Z", b"X")


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
