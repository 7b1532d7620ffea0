"""The tour's evidence: two independent sources, and the result computed from both.

The database records what was settled, and how often. The handlers' own log records which attempts began: one line for
each, written without the database, by one `write` to a file opened with O_APPEND. So lines of several processes never
mix, and a process that is killed leaves a whole line or none.
"""

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from leasehold import Task
from leasehold.errors import Broken
from leasehold.model.status import Status
from leasehold.store.reports import JournalCounts


class AttemptStart(Struct, frozen=True):
    """One attempt that began: which task of which job, under which fence, in which process."""

    job_id: int
    task_id: int
    attempt: int
    fence: int
    pid: int


def log_start(path: str, task: Task) -> None:
    lease = task.lease
    line = msgspec.json.encode(AttemptStart(lease.job_id, lease.task_id, lease.attempt, lease.fence, os.getpid()))
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        if os.write(descriptor, line + b"\n") != len(line) + 1:
            raise OSError("a line of the handlers' log was written only in part")
    finally:
        os.close(descriptor)


class StartLog:
    """Reads the handlers' log while it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self.starts: list[AttemptStart] = []

    def read(self) -> int:
        """Read new lines; return how many there are in all."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._offset)
                new = file.read()
            whole = new[: new.rfind(b"\n") + 1]
            self._offset += len(whole)
            try:
                self.starts += msgspec.json.Decoder(AttemptStart).decode_lines(whole)
            except msgspec.MsgspecError as error:
                raise Broken(f"The handlers' log holds a line that no handler wrote: {error}.") from error
        return len(self.starts)

    def latest(self, pid: int, limit: int) -> list[AttemptStart]:
        """Return the latest attempts of a process, newest first."""
        return [start for start in reversed(self.starts) if start.pid == pid][:limit]


@dataclass(frozen=True, slots=True)
class TourResult:
    """The tour's result. `lost` and `settled_twice` hold ids; `contradictions` are sentences."""

    submitted: int
    done: int
    seen: int
    lost: list[int]
    settled_twice: list[int]
    repeated: int
    repeated_begun: int
    contradictions: list[str]
    kills_wanted: int
    kills: int
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether the tour showed what it promises."""
        return not (self.lost or self.settled_twice or self.contradictions) and self.kills >= self.kills_wanted


def judge(
    jobs: Collection[int],
    journal_counts: Iterable[JournalCounts],
    starts: Sequence[AttemptStart],
    *,
    kills_wanted: int,
    kills: int,
    seconds: float,
) -> TourResult:
    """Compute the result from what was submitted, what both sources recorded, and how many kills hit work. Pure."""
    own = [history for history in journal_counts if history.job_id in jobs]
    done = {history.task_id for history in own if history.task_id == history.job_id and history.status == Status.DONE}
    seen = {start.job_id for start in starts}
    return TourResult(
        submitted=len(jobs),
        done=len(done),
        seen=len(seen & set(jobs)),
        lost=sorted(set(jobs) - (done & seen)),
        settled_twice=sorted(
            history.task_id for history in own if max(history.endings, history.outcomes) > 1 + history.revivals
        ),
        repeated=sum(history.reclaims for history in own),
        repeated_begun=len(starts) - len({start.task_id for start in starts}),
        contradictions=list(_contradictions(own, starts)),
        kills_wanted=kills_wanted,
        kills=kills,
        seconds=seconds,
    )


def _contradictions(journal_counts: Sequence[JournalCounts], starts: Sequence[AttemptStart]) -> Iterable[str]:
    """Yield where the two sources cannot both be right."""
    known = {history.task_id: history for history in journal_counts}
    fences: dict[int, list[int]] = {}
    for start in starts:
        fences.setdefault(start.task_id, []).append(start.fence)
    for task_id, begun in fences.items():
        if (history := known.get(task_id)) is None:
            yield f"task {task_id} ran, but the database does not know it"
        elif len(set(begun)) < len(begun):
            yield f"task {task_id} began twice under one lease"
        elif max(begun) > history.claims:
            yield f"task {task_id} ran under lease {max(begun)}, but was claimed {history.claims} times"
    for history in journal_counts:
        ran = history.claims > 0 and history.status == Status.DONE
        if ran and history.fence not in fences.get(history.task_id, ()):
            yield f"task {history.task_id} was settled by lease {history.fence}, under which no handler began"
