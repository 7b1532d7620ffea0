"""Output as lines, in bounded memory: of a line above the limit only the beginning is kept."""

from collections.abc import Iterator
from typing import NamedTuple

from leasehold.pipelines.agents.limits import LINE_BYTES_MAX


class OutputLine(NamedTuple):
    """One line without its end; `cut` is how many bytes of it were dropped."""

    content: bytes
    cut: int = 0


class LineSplitter:
    """Splits chunks into lines. It never holds more than one chunk and one line of the limit.

    With `only_objects` lines may be left out that have no brace: a flood of plain output then costs next to nothing.
    """

    def __init__(self, limit: int = LINE_BYTES_MAX, *, only_objects: bool = False) -> None:
        self._limit = limit
        self._only_objects = only_objects
        self._parts: list[bytes] = []
        self._size = 0
        self._cut = 0

    def feed(self, chunk: bytes) -> Iterator[OutputLine]:
        """Yield the lines that this chunk ends."""
        *ended, rest = self._parts_of(chunk)
        for part in ended:
            self._add(part)
            yield self._take()
        self._add(rest)

    def end(self) -> Iterator[OutputLine]:
        """Yield the last line if no line end follows it."""
        if self._parts or self._cut:
            yield self._take()

    def _parts_of(self, chunk: bytes) -> list[bytes]:
        """Return the lines of a chunk; of one without a brace only the first and the last, which others continue."""
        if not self._only_objects or b"{" in chunk or len(chunk) > self._limit:
            return chunk.split(b"\n")
        first, last = chunk.find(b"\n"), chunk.rfind(b"\n")
        return [chunk] if first < 0 else [chunk[:first], chunk[last + 1 :]]

    def _add(self, part: bytes) -> None:
        kept = part[: self._limit - self._size]
        self._cut += len(part) - len(kept)
        if kept:
            self._parts.append(kept)
            self._size += len(kept)

    def _take(self) -> OutputLine:
        line = OutputLine(b"".join(self._parts), self._cut)
        self._parts, self._size, self._cut = [], 0, 0
        return line
