"""The programs of one direction: those without memory stay running, the tagger is started for each text.

Starting the programs takes 0.15 s, asking them a few milliseconds. They sit in a process group of their own, so a
Ctrl-C for us does not reach them; if we are killed, the first reads the end of its input, and all end by themselves.

apertium-tagger learns from every text: words that may be several things at once are added to what it knows. In a
pipeline that stays, a translation would depend on all before it, and a run that was interrupted would end with other
words. A tagger of its own for each text costs some ten milliseconds, and makes the same text come out the same.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from itertools import groupby
from pathlib import PurePath
from typing import Final

from leasehold import Permanent, Transient
from leasehold.errors import number_text

ANSWER_BYTES_MAX: Final = 20_000_000
CHUNK: Final = 65_536
LEARNS: Final = "apertium-tagger"
FLUSH: Final = "-z"
_NUL: Final = b"\0"


class PipelineDied(Exception):
    """A program of the pipeline ended, or closed its end of a pipe."""


class ApertiumPipeline:
    """Not thread-safe: callers that share one hold a lock."""

    def __init__(self, programs: list[list[str]]) -> None:
        self._pid = os.getpid()
        self._running: list[subprocess.Popen[bytes]] = []
        try:
            self._start(programs)
        except OSError as error:
            self.close()
            raise _not_started(error, programs[0]) from None
        into, out = self._running[0].stdin, self._running[-1].stdout
        assert into is not None
        assert out is not None
        self._into, self._out = into.fileno(), out.fileno()
        os.set_blocking(self._into, False)
        os.set_blocking(self._out, False)

    @property
    def usable(self) -> bool:
        """Whether these programs are of this process: after a fork they are still the parent's."""
        return self._pid == os.getpid() and bool(self._running)

    def ask(self, text: str, tail: str, timeout: float) -> str:
        """Return what the programs make of a text that ends with `tail`, as what they answer must.

        An answer without it is of a pipeline whose middle died: the programs behind it still write what they have read.
        Raises `PipelineDied`, or `Transient` when they take too long.
        """
        output = self._exchange(memoryview(text.encode() + _NUL), timeout)[:-1].decode("utf-8", "replace")
        if not output.endswith(tail):
            raise PipelineDied
        return output

    def close(self) -> None:
        """End every program and wait for each, so that none stays behind; after a fork, leave the parent's alone."""
        running, self._running = self._running, []
        if not running or self._pid != os.getpid():
            return
        # The first is not waited for before this, so its number cannot have become another's.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running[0].pid, signal.SIGKILL)
        for process in running:
            process.kill()
            for pipe in filter(None, (process.stdin, process.stdout)):
                pipe.close()
            process.wait()

    def _start(self, programs: list[list[str]]) -> None:
        source: int | None = subprocess.PIPE
        for words in programs:
            group = self._running[0].pid if self._running else 0
            process = subprocess.Popen(
                words,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"LC_ALL": "C.UTF-8"},
                process_group=group,
                bufsize=0,
            )
            if self._running:
                # Ours of the pipe between the two: left open, the one before would never learn of the other's end.
                before = self._running[-1].stdout
                assert before is not None
                before.close()
            self._running.append(process)
            assert process.stdout is not None
            source = process.stdout.fileno()

    def _exchange(self, unsent: memoryview, timeout: float) -> bytearray:
        """Write and read in turn: writing all before reading would wait for ever once every pipe is full."""
        deadline = time.monotonic() + timeout
        answer = bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(self._out, selectors.EVENT_READ)
            ready.register(self._into, selectors.EVENT_WRITE)
            while not answer.endswith(_NUL):
                able = {key.fd for key, _ in ready.select(max(0.0, deadline - time.monotonic()))}
                if not able:
                    raise _timed_out(timeout)
                unsent = self._send(unsent) if self._into in able else unsent
                if not unsent and self._into in able:
                    ready.unregister(self._into)
                answer += self._receive(len(answer)) if self._out in able else b""
        return answer

    def _send(self, unsent: memoryview) -> memoryview:
        try:
            return unsent[os.write(self._into, unsent[:CHUNK]) :]
        except BlockingIOError:
            return unsent
        except BrokenPipeError:
            raise PipelineDied from None

    def _receive(self, received: int) -> bytes:
        if not (chunk := os.read(self._out, CHUNK)):
            raise PipelineDied
        if received + len(chunk) > ANSWER_BYTES_MAX:
            raise Permanent(f"Apertium answered more than {ANSWER_BYTES_MAX:,} bytes.", error_class="ANSWER_TOO_LONG")
        return chunk


class FreshProgram:
    """A program that is started for each text, and ends with it."""

    usable = True

    def __init__(self, words: list[str]) -> None:
        self._words = [word for word in words if word != FLUSH]

    def ask(self, text: str, tail: str, timeout: float) -> str:
        try:
            ended = subprocess.run(
                self._words, input=text.encode(), capture_output=True, timeout=timeout, check=False, process_group=0
            )
        except subprocess.TimeoutExpired:
            raise _timed_out(timeout) from None
        except OSError as error:
            raise _not_started(error, self._words) from None
        output = ended.stdout.decode("utf-8", "replace")
        if ended.returncode or not output.endswith(tail):
            raise PipelineDied
        return output

    def close(self) -> None:
        """Nothing stays behind."""


class ApertiumPrograms:
    """The running programs of one direction. Not thread-safe: callers that share one hold a lock."""

    def __init__(self, programs: list[list[str]]) -> None:
        self._steps: list[ApertiumPipeline | FreshProgram] = []
        try:
            for learns, group in groupby(programs, key=lambda words: PurePath(words[0]).name == LEARNS):
                several = list(group)
                self._steps += [FreshProgram(words) for words in several] if learns else [ApertiumPipeline(several)]
        except BaseException:
            self.close()
            raise

    @property
    def usable(self) -> bool:
        return all(step.usable for step in self._steps)

    def ask(self, text: str, tails: tuple[str, str], timeout: float) -> str:
        """Return what the programs make of a text that ends with the first of `tails`.

        What the last of them answers must end likewise, what others do with the second. Raises `PipelineDied`, or
        `Transient` when they take too long.
        """
        deadline = time.monotonic() + timeout
        for number, step in enumerate(self._steps, start=1):
            is_last = number == len(self._steps)
            text = step.ask(text, tails[0] if is_last else tails[1], max(0.0, deadline - time.monotonic()))
        return text

    def close(self) -> None:
        for step in self._steps:
            step.close()


def _timed_out(timeout: float) -> Transient:
    return Transient(f"Apertium did not answer within {number_text(timeout)} s.", error_class="TRANSLATOR_TIMEOUT")


def _not_started(error: OSError, words: list[str]) -> Permanent:
    missing = error.filename or words[0]
    output = f"Apertium's {missing} cannot be started ({error.strerror}); install it: apt install apertium."
    return Permanent(output, error_class="TRANSLATOR_MISSING")
