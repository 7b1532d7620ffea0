"""What a child is sent: written as fast as the child reads, dropped when the child has closed its standard input."""

from __future__ import annotations

import os
import selectors

from leasehold.pipelines.agents.child.process import ChildProcess
from leasehold.pipelines.agents.limits import ANSWERS_BYTES_MAX


class ChildInput:
    """The lines that wait for a child to read them. Never blocks."""

    def __init__(self, child: ChildProcess, selector: selectors.BaseSelector) -> None:
        self._child = child
        self._selector = selector
        self._pending = bytearray()
        self._answers = 0

    @property
    def is_behind(self) -> bool:
        """Whether so many answers wait that the child should be asked no more: its first line does not count."""
        return min(self._answers, len(self._pending)) > ANSWERS_BYTES_MAX

    def begin(self, first_line: bytes | None) -> None:
        """Send the first line and leave standard input open for answers; close it if there is none."""
        if first_line is None:
            self._child.close_stdin()
        else:
            self._add(first_line)

    def answer(self, line: bytes) -> None:
        if self._child.stdin >= 0:
            self._answers += len(line)
            self._add(line)

    def flush(self) -> None:
        try:
            written = os.write(self._child.stdin, self._pending)
        except BlockingIOError:
            return
        except OSError:  # the child has closed it, and wants no answers
            self._selector.unregister(self._child.stdin)
            self._child.close_stdin()
            self._pending.clear()
            self._answers = 0
            return
        del self._pending[:written]
        if not self._pending:
            self._answers = 0
            self._selector.unregister(self._child.stdin)

    def _add(self, line: bytes) -> None:
        if not self._pending:
            self._selector.register(self._child.stdin, selectors.EVENT_WRITE)
        self._pending += line
