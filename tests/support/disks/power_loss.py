"""What is on the platter after the power went: all that was synced, and of the rest whatever chance left there."""

from __future__ import annotations

import random
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.support.disks.faulty_disk import HEADER, MAGIC

SECTOR = 512
Write = tuple[bytes, bytes, int]


class Image:
    """The files of one folder as a disk has them: durable bytes, and writes that no sync has covered."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.durable = {name: bytearray(content) for name, content in files.items()}
        self.pending: dict[str, list[Write]] = defaultdict(list)

    def play(self, what: bytes, name: str, content: bytes, offset: int) -> None:
        """Apply a line of the log."""
        if what == b"d":
            self.durable.pop(name, None)
            self.pending.pop(name, None)
        elif what == b"s":
            for write in self.pending.pop(name, []):
                self._apply(name, write)
        else:
            self.pending[name].append((what, content, offset))

    def cut(self, dice: random.Random) -> int:
        """Let some of what was not synced reach the platter, torn and out of order; return how much did not."""
        lost = 0
        for name, writes in self.pending.items():
            torn = [piece for write in writes for piece in _sectors(write)]
            kept = [piece for piece in torn if dice.random() < 0.5]
            dice.shuffle(kept)
            lost += len(torn) - len(kept)
            for piece in kept:
                self._apply(name, piece)
        self.pending.clear()
        return lost

    def _apply(self, name: str, write: Write) -> None:
        what, content, offset = write
        file = self.durable.setdefault(name, bytearray())
        if what == b"t":
            del file[offset:]
            return
        file.extend(bytes(max(0, offset + len(content) - len(file))))
        file[offset : offset + len(content)] = content


def _sectors(write: Write) -> Iterator[Write]:
    what, content, offset = write
    if what == b"t":
        yield write
    for start in range(0, len(content), SECTOR):
        yield what, content[start : start + SECTOR], offset + start


def _lines(log: bytes) -> Iterator[tuple[bytes, str, bytes, int]]:
    """Read the log; a line that a killed process left unfinished is passed over."""
    place = 0
    while (place := log.find(MAGIC, place)) >= 0 and place + HEADER.size <= len(log):
        _, checksum, length, what, name_length, offset = HEADER.unpack_from(log, place)
        start = place + HEADER.size
        body = log[start : start + name_length + length]
        if len(body) < name_length + length or zlib.crc32(body) != checksum:
            place += 1
            continue
        yield what, body[:name_length].decode(), body[name_length:], offset
        place = start + len(body)


def read(folder: Path, name: str) -> dict[str, bytes]:
    """Return a database's files, none of which is open anywhere."""
    return {path.name: path.read_bytes() for path in folder.glob(f"{name}*") if not path.name.endswith("-shm")}


def after_the_cut(folder: Path, log: Path, base: dict[str, bytes], dice: random.Random) -> int:
    """Put a database's files into the state in which a power cut leaves them; return how many sectors were lost.

    `base` is what the disk held when the log was begun. Every process that had the files open must be gone.
    """
    image = Image(base)
    for line in _lines(log.read_bytes()):
        image.play(*line)
    lost = image.cut(dice)
    for path in folder.glob(f"{next(iter(base))}*"):
        path.unlink()
    for name, content in image.durable.items():
        (folder / name).write_bytes(content)
    log.unlink()
    return lost
