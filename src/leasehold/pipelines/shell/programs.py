"""Runs other programs, never through a shell: argument by argument, with a time-out and a cap on what they print.

A program is found once, under an absolute path. It gets the environment that it is given and nothing else, and nothing
on its standard input that it is not given. It leads a process group of its own, all of which is killed at its end, when
the time is over, when it prints too much, and when the caller raises. Errors name the program and its first argument:
the others may be secret, and what a program prints is redacted and cut.
"""

from __future__ import annotations

import math
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from leasehold.errors import Misuse, Unavailable
from leasehold.redact import RedactionFailed, scrub

READ_BYTES: Final = 256 * 1024
ERRORS_BYTES_MAX: Final = 4_096
REASON_SHOWN_MAX: Final = 300


class ProgramMissing(Misuse, code="PROGRAM_MISSING"):
    """A program is not installed, or its path is not an absolute one of an executable file."""


class ProgramFailed(Unavailable, code="PROGRAM_FAILED"):
    """A program ended with an error."""


class ProgramTimedOut(Unavailable, code="PROGRAM_TIMED_OUT"):
    """A program did not end in time and was killed with its whole process group."""


class ProgramOutputTooLarge(Misuse, code="PROGRAM_OUTPUT_TOO_LARGE"):
    """A program printed more than it may and was killed with its whole process group."""


@dataclass(frozen=True, slots=True)
class Program:
    """An installed program. `fixed` are arguments that stand before all others."""

    path: str
    environment: Mapping[str, str] = field(repr=False)
    fixed: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return Path(self.path).name


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """How long one run may take and how much it may print."""

    seconds: float = math.inf
    output_bytes: float = math.inf


def find_program(name: str) -> str:
    """Return the absolute path of a program: itself, if it is one, or from the absolute folders of PATH."""
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(folder).is_absolute()]
    found = shutil.which(name, path=os.pathsep.join(folders)) if os.sep not in name or name.startswith(os.sep) else None
    if found is None:
        raise ProgramMissing(f"It is {name[:200]!r}; install it, or name its absolute path.")
    return found


def kept_environment(names: tuple[str, ...], more: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of this process that a program may have, if they are set, and some of its own."""
    return {**{name: os.environ[name] for name in names if name in os.environ}, **more}


def run_program(
    program: Program, folder: Path, arguments: tuple[str, ...], limits: ProgramLimits, stdin: bytes = b""
) -> bytes:
    """Run a program to its end and return what it printed."""
    parts: list[bytes] = []
    stream_program(program, folder, arguments, limits, parts.append, stdin)
    return b"".join(parts)


def stream_program(
    program: Program,
    folder: Path,
    arguments: tuple[str, ...],
    limits: ProgramLimits,
    take: Callable[[bytes], object],
    stdin: bytes = b"",
) -> None:
    """Run a program and pass on what it prints, chunk by chunk. `take` may raise, which ends the program."""
    label = f"{program.name} {arguments[0]}" if arguments else program.name
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        try:
            process = subprocess.Popen(
                [program.path, *program.fixed, *arguments],
                cwd=folder,
                env=dict(program.environment),
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # a NUL in an argument is a ValueError
            reason = error.strerror if isinstance(error, OSError) else "an argument holds a NUL"
            raise ProgramFailed(f"{label} cannot be started in {folder}: {reason}.") from None
    errors = _ErrorsTail()
    try:
        _Reading(process, limits, label).run(take, errors.take)
        code = process.returncode
    finally:
        _end(process)
    if code:
        raise ProgramFailed(f"{label} ended with {code}: {errors.reason()}")


class _ErrorsTail:
    """The end of what a program wrote to its standard error."""

    def __init__(self) -> None:
        self._kept = b""

    def take(self, chunk: bytes) -> None:
        self._kept = (self._kept + chunk)[-ERRORS_BYTES_MAX:]

    def reason(self) -> str:
        """Return its last line, for a message."""
        return shown_reason(self._kept.decode("utf-8", "replace"))


def shown_reason(text: str) -> str:
    """Return the last line of a program's message, redacted and cut."""
    try:
        return scrub(text.strip().rpartition("\n")[2])[:REASON_SHOWN_MAX]
    except RedactionFailed:
        return "(its message cannot be shown)"


class _Reading:
    """Reads both outputs of one process until they are closed and it has ended."""

    def __init__(self, process: subprocess.Popen[bytes], limits: ProgramLimits, label: str) -> None:
        self._process = process
        self._limits = limits
        self._label = label
        self._deadline = time.monotonic() + limits.seconds
        self._printed = 0

    def run(self, take: Callable[[bytes], object], take_error: Callable[[bytes], object]) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ, partial(self._take_counted, take))
            selector.register(self._process.stderr, selectors.EVENT_READ, take_error)
            while selector.get_map():
                self._read_ready(selector)
        try:
            self._process.wait(self._left())
        except subprocess.TimeoutExpired:
            raise self._timed_out() from None

    def _read_ready(self, selector: selectors.BaseSelector) -> None:
        for key, _ in selector.select(self._left()):
            if chunk := os.read(key.fd, READ_BYTES):
                key.data(chunk)
            else:
                selector.unregister(key.fileobj)

    def _left(self) -> float | None:
        """Return how many seconds are left, None without a limit; raise if none are."""
        if self._deadline == math.inf:
            return None
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise self._timed_out()
        return left

    def _timed_out(self) -> ProgramTimedOut:
        return ProgramTimedOut(f"{self._label} had {self._limits.seconds:g} seconds.")

    def _take_counted(self, take: Callable[[bytes], object], chunk: bytes) -> None:
        self._printed += len(chunk)
        if self._printed > self._limits.output_bytes:
            raise ProgramOutputTooLarge(f"{self._label} may print {self._limits.output_bytes:,} bytes.")
        take(chunk)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a program's process group, also what it has left in the background."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
