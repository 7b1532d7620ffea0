"""Stretches of a text without spaces or punctuation, found at the speed of a search for bytes.

Every token has one; ordinary prose and code have few. So the costly questions are asked there only.
"""

from collections.abc import Iterator
from typing import Final

WORD: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


class Runs:
    """Finds the stretches of at least some length made of letters, digits, `_`, `-` and the characters in `more`."""

    def __init__(self, length_min: int, more: bytes = b"") -> None:
        self._marks = bytes(code in WORD + more for code in range(256))
        self._least = b"\x01" * length_min

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where each begins and ends; a character beyond ASCII ends one."""
        marks = text.encode("ascii", "replace").translate(self._marks)
        start = marks.find(self._least)
        while start >= 0:
            end = marks.find(b"\x00", start)
            end = len(marks) if end < 0 else end
            yield start, end
            start = marks.find(self._least, end)
