"""Worker processes that are ready when a command has planned: forked before it opens anything, waiting for a word.

A process that begins by itself reads all its modules first, which takes longer than many a file. Forking is for a
process that has one thread and no connections: the command line, before it does anything.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self

from leasehold.pipelines.crew import Stop, dismiss
from leasehold.pipelines.download.collection import Settings
from leasehold.pipelines.hand import take_fast_loop

GO: Final = b"g"
FAILED: Final = 1
BACK: Final = (signal.SIGINT, signal.SIGTERM)


class Child:
    """A process that waits for a word, works, and leaves when told to or when its parent is gone."""

    def __init__(self, settings: Settings, words: Sequence[str], log: Path, elder: Sequence[Child]) -> None:
        mine, self._line = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            for one in (self, *elder):  # a line that a sibling holds does not end with the parent
                os.close(one._line)  # noqa: SLF001
            _live(mine, settings, words, log)
        os.close(mine)
        self.returncode: int | None = None

    def go(self) -> None:
        """Let it begin."""
        with suppress(BrokenPipeError):
            os.write(self._line, GO)

    def poll(self) -> int | None:
        """Return how it ended; None while it runs."""
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # somebody else has waited for it
                pid, status = self.pid, FAILED << 8
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def terminate(self) -> None:
        """Tell it to leave."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def let_go(self) -> None:
        """Close the line; one that still waits ends."""
        os.close(self._line)


class Children:
    """Several of them; none outlives the block. There are none in a process with threads, which must not be forked."""

    def __init__(self, settings: Settings, count: int, words: Sequence[str], log: Path) -> None:
        is_alone = threading.active_count() == 1 and hasattr(os, "fork")
        self.hands: list[Child] = []
        self.have_begun = False
        self._wish = Stop()
        for _ in range(count if is_alone else 0):
            self.hands.append(Child(settings, words, log, self.hands))

    def begin(self, wish: Stop) -> None:
        """Tell them to begin, unless somebody wants an end."""
        self._wish = wish
        if wish.number is None:
            self.have_begun = bool(self.hands)
            for hand in self.hands:
                hand.go()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hand in self.hands:
            hand.let_go()
        dismiss(self.hands, self._wish)  # those that do not leave are killed


def _live(line: int, settings: Settings, words: Sequence[str], log: Path) -> NoReturn:
    """Be the child."""
    code = FAILED
    try:
        os.setsid()
        for number in BACK:
            signal.signal(number, signal.SIG_DFL)
        take_fast_loop()  # while the parent plans
        if os.read(line, 1) != GO:
            os._exit(0)
        _redirect(log)
        threading.Thread(target=_watch, args=[line], name="leasehold-hand", daemon=True).start()
        os.environ.update(settings.environment())
        sys.argv = ["leasehold", *words]
        runpy.run_module("leasehold", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else FAILED if end.code else 0
    except BaseException:  # noqa: BLE001 — it is written where people are told to look
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _redirect(log: Path) -> None:
    nowhere, said = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for there, here in ((nowhere, 0), (said, 1), (said, 2)):
        os.dup2(there, here)
    sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")


def _watch(line: int) -> None:
    """Leave when the parent is gone, and its end of the line with it."""
    with suppress(OSError):
        while os.read(line, 1):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
