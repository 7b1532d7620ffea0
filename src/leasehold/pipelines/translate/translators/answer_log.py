"""The answers of translators, logged before anything else is done with them.

An answer may have cost money. A process can be killed before the result is committed; the next attempt then
reads this log by the key of the effect and uses what it finds instead of asking again. One line, one write: a kill
leaves a line or none, and a torn one (of a machine that went down) is skipped.
"""

import fcntl
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

LINE_BYTES_MAX: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class AnswerLog:
    """A file of JSON Lines that only grows; several processes may add to it."""

    path: Path

    def keep(self, key: str, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        answer = ask()
        line = json.dumps({"key": key, "answer": answer}, ensure_ascii=False, separators=(",", ":"))
        place = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(place, fcntl.LOCK_EX)  # or a line that another process is writing would pass for a torn one
            # crash here: the answer is lost, and the translator is asked a second time
            _write(place, f"{_break(place)}{line}\n".encode())
            os.fsync(place)
        finally:
            os.close(place)
        return answer

    def find(self, key: str) -> dict[str, Any] | None:
        if not self.path.exists():
            return None
        with self.path.open("rb") as lines:
            found = (_answer(line, key) for line in iter(partial(lines.readline, LINE_BYTES_MAX), b""))
            return next((answer for answer in found if answer is not None), None)


def _break(place: int) -> str:
    """Return what ends a line that was cut off."""
    size = os.fstat(place).st_size
    return "" if size == 0 or os.pread(place, 1, size - 1) == b"\n" else "\n"


def _write(place: int, line: bytes) -> None:
    while line:
        line = line[os.write(place, line) :]


def _answer(line: bytes, key: str) -> dict[str, Any] | None:
    if key.encode() not in line:  # most lines; they need not be read
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("key") != key or not isinstance(found.get("answer"), dict):
        return None
    answer: dict[str, Any] = found["answer"]
    return answer
