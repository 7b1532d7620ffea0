"""Compare a projection with the journal, page by page from the first line to the last, before anything is appended.

Lines of jobs that were pruned cannot be compared. Every other line must be there, byte for byte, and no more.
"""

from collections import deque
from collections.abc import Sequence
from itertools import islice

from leasehold.errors import ProjectionDamaged, ProjectionForeign
from leasehold.insight.journal.follow import encode
from leasehold.insight.journal.ndjson import Projection, Written
from leasehold.model.limits import PAGE_MAX
from leasehold.store import Store
from leasehold.store.journal import JournalLine


def compare(store: Store, job_id: int | None, file: Projection) -> None:
    """Raise `ProjectionForeign` if the file is of another database or another job, `ProjectionDamaged` by its line."""
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
            self._check_job(one)
            if due and due[0].id < one.id:
                raise self._missing(one, due[0])
            if due and due[0].id == one.id and there[due.popleft().id] != one.raw:
                raise self._differs(f"{self._at(one)}: it is not what the journal has as id {one.id}.")
        self._check_rest([one for one in written if one.id not in there])

    def _check_job(self, one: Written) -> None:
        if self._job_id not in (None, one.job_id):
            raise ProjectionForeign(f"{self._at(one)}: it is of job {one.job_id}, not of job {self._job_id}.")

    def _check_rest(self, rest: Sequence[Written]) -> None:
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
