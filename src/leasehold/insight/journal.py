"""The journal as a stream, and a file of NDJSON that it is written to and that survives a crash.

The file is a projection: the journal's rows are the truth, and it can be made again. One process writes it, under a
lock. What a crash left of a last line is cut off before anything is appended; damage before that is refused.
"""

import fcntl
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import Struct, structs

from leasehold import canonical
from leasehold.errors import OptionInvalid, ProjectionBusy, ProjectionDamaged, ProjectionForeign
from leasehold.model.limits import PAGE_MAX
from leasehold.store import Store
from leasehold.store.journal import Horizon, JournalLine

START: Final = b'{"at":'  # how every line of the journal begins: keys are sorted
_encoder: Final = msgspec.json.Encoder(order="sorted")


def page(store: Store, job_id: int | None, after: int) -> list[JournalLine]:
    """Read the committed lines after the line `after`, one page."""
    return store.journal.follow(job_id, after, store.journal.horizon().newest)


class Follower:
    """Reads on from a line. On PostgreSQL a line may be committed after higher numbers: those wait for it."""

    def __init__(self, store: Store, job_id: int | None, after: int) -> None:
        self._store = store
        self._job_id = job_id
        self._horizons: deque[Horizon] = deque(maxlen=PAGE_MAX)
        self._settled = after
        self.after = after

    def read(self) -> list[JournalLine]:
        """Return the next lines; none if nothing more is settled."""
        if self._settled <= self.after:
            latest = self._store.journal.horizon()
            self._horizons.append(latest)
            while self._horizons and self._horizons[0].next <= latest.oldest:
                self._settled = max(self._settled, self._horizons.popleft().newest)
        if self._settled <= self.after:
            return []
        lines = self._store.journal.follow(self._job_id, self.after, self._settled, PAGE_MAX)
        self.after = lines[-1].id if len(lines) == PAGE_MAX else self._settled
        return lines


def plain(line: JournalLine) -> dict[str, Any]:
    """Return a line as JSON-able fields; absent ones are left out."""
    fields = {name: value for name, value in structs.asdict(line).items() if value is not None}
    if line.detail is not None:
        fields["detail"] = canonical.decode(line.detail)
    return fields


def encode(line: JournalLine) -> bytes:
    return _encoder.encode(plain(line)) + b"\n"


class Written(Struct, frozen=True):
    """A line of the file: which of the file's lines it is, what it claims to be, and its bytes."""

    number: int
    id: int
    job_id: int
    raw: bytes


class Projection(AbstractContextManager["Projection"]):
    """An open file. `last` is the number of its last line in the journal, 0 if it has none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.last = 0
        self.job_id: int | None = None  # the one job whose lines it holds; None if it holds several or none
        self._end = 0
        self._torn = b""
        self._file = _open(path)
        try:
            _lock(self._file, path)
            self._read()
        except BaseException:
            self._file.close()
            raise

    def _read(self) -> None:
        several = False
        for line in self.lines():
            if line.id <= self.last:
                raise ProjectionDamaged(f"{self.path}:{line.number}: its id {line.id} follows {self.last}.")
            several = several or self.job_id not in (None, line.job_id)
            self.last, self.job_id = line.id, line.job_id
            self._end += len(line.raw)
        if several:
            self.job_id = None

    def lines(self) -> Iterator[Written]:
        """Read its whole lines from the beginning; `ProjectionDamaged` at one that is not the journal's."""
        self._file.seek(0)
        for number, raw in enumerate(self._file, 1):
            if not raw.endswith(b"\n"):
                self._torn = raw
                if number == 1 and not raw.startswith(START[: len(raw)]):  # not ours to cut
                    raise ProjectionDamaged(f"{self.path}:{number}: it is not a line of the journal.")
                return
            yield self._line(number, raw)

    def _line(self, number: int, raw: bytes) -> Written:
        try:
            found = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found = None
        fields = found if isinstance(found, dict) else {}
        line_id, job_id = fields.get("id"), fields.get("job_id")
        if not isinstance(line_id, int) or not isinstance(job_id, int):
            raise ProjectionDamaged(f"{self.path}:{number}: it is not a line of the journal.")
        return Written(number, line_id, job_id, raw)

    def repair(self) -> int:
        """Take a torn last line off, which a crash in the middle of a write left; return how many bytes it had."""
        if self._torn:
            self._file.truncate(self._end)
            os.fsync(self._file.fileno())
        self._file.seek(self._end)
        return len(self._torn)

    def append(self, lines: Iterable[bytes]) -> None:
        """Add lines to a file that was repaired; they are on the disk when this returns."""
        self._file.writelines(lines)
        self._file.flush()
        # crash here: a line written in part
        # The next writer finds no line break at its end and cuts it off; the journal still has the line.
        os.fsync(self._file.fileno())

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _open(path: Path) -> BinaryIO:
    try:
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), "r+b")
    except OSError as error:
        raise OptionInvalid(f"{path} cannot be written: {error.strerror}.") from None


def _lock(file: BinaryIO, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ProjectionBusy(f"It is {path}.") from None


def compare(store: Store, job_id: int | None, file: Projection) -> None:
    """Compare a projection with the journal, page by page, before anything is appended.

    Lines of jobs that were pruned cannot be compared. Every other line must be there, byte for byte, and no more.
    Raises `ProjectionForeign` if the file is of another database or another job, `ProjectionDamaged` by its line.
    """
    if file.last > store.journal.horizon().newest:
        raise ProjectionForeign(f"{file.path} ends with id {file.last}, which this database has not reached.")
    comparison = _Comparison(store, job_id, file)
    after = 0
    lines = file.lines()
    while page := list(islice(lines, PAGE_MAX)):
        comparison.page(page, store.journal.follow(job_id, after, page[-1].id))
        after = page[-1].id


class _Comparison:
    """Compares a file with the journal of one job, or of all."""

    def __init__(self, store: Store, job_id: int | None, file: Projection) -> None:
        self._store = store
        self._job_id = job_id
        self._file = file
        self._fits = False  # a line was seen that is the journal's

    def page(self, written: Sequence[Written], journal: Sequence[JournalLine]) -> None:
        there = {line.id: encode(line) for line in journal}
        self._fits = self._fits or any(there.get(one.id) == one.raw for one in written)
        due = deque(journal)
        for one in written:
            if self._job_id not in (None, one.job_id):
                raise ProjectionForeign(f"{self._at(one)}: it is of job {one.job_id}, not of job {self._job_id}.")
            if due and due[0].id < one.id:
                raise self._missing(one, due[0])
            if due and due[0].id == one.id and there[due.popleft().id] != one.raw:
                raise self._differs(f"{self._at(one)}: it is not what the journal has as id {one.id}.")
        rest = [one for one in written if one.id not in there]
        pruned = self._store.journal.pruned({one.job_id for one in rest}) if rest else set()
        for one in rest:
            if one.job_id not in pruned:
                raise self._differs(f"{self._at(one)}: there is no id {one.id} in the journal of job {one.job_id}.")

    def _missing(self, one: Written, line: JournalLine) -> ProjectionDamaged | ProjectionForeign:
        alone = self._file.job_id
        if self._job_id is None and alone not in (None, line.job_id):
            return ProjectionForeign(
                f"{self._file.path} holds the lines of job {alone} alone, and id {line.id} is not."
            )
        return ProjectionDamaged(f"{self._at(one)}: id {line.id} of the journal is missing before it.")

    def _differs(self, problem: str) -> ProjectionDamaged | ProjectionForeign:
        """A file of which some lines match is damaged; any other is of another database."""
        return ProjectionDamaged(problem) if self._fits else ProjectionForeign(problem)

    def _at(self, one: Written) -> str:
        return f"{self._file.path}:{one.number}"
