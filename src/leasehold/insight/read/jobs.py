"""A job as people and programs see it."""

from datetime import datetime
from typing import Any

from msgspec import Struct

from leasehold import canonical, clock
from leasehold.errors import JobUnknown, OptionInvalid
from leasehold.model.limits import PAGE_MAX
from leasehold.model.names import check_choice, check_id, check_key, check_name, check_whole
from leasehold.model.status import Status
from leasehold.shapes import View, from_fields
from leasehold.store import Store
from leasehold.store.reports import JobRow


class JobSnapshot(View, frozen=True):
    id: int
    kind: str
    key: str
    status: Status
    payload: Any
    output: Any
    failure: dict[str, Any] | None
    created_at: datetime
    finished_at: datetime | None
    has_parts: bool = False

    def plain(self) -> dict[str, Any]:
        return {name: value for name, value in super().plain().items() if name != "has_parts"}


def find(store: Store, job_id: int, *, whole: bool = True) -> JobSnapshot:
    """Read one job, or raise `JobUnknown`. Not `whole`: without a pipeline's outputs, which may be large."""
    row = store.reports.job(job_id)
    if row is None:
        raise JobUnknown(f"The id is {job_id}.")
    return _snapshot(store, row, whole=whole)


def find_by_key(store: Store, kind: str, key: str) -> JobSnapshot | None:
    row = store.reports.job_by_key(kind, key)
    return None if row is None else _snapshot(store, row, whole=False)


class JobFilter(Struct, frozen=True):
    """Which jobs to list: older than the job `before`, and with a key that starts with `key_prefix`, of this kind."""

    status: str | None = None
    kind: str | None = None
    queue: str | None = None
    key_prefix: str | None = None
    before: int | None = None
    limit: int = 50

    def check(self) -> None:
        """Raise unless the options are valid, before anything is read."""
        check_choice(self.status, Status, "status")
        for name, what in ((self.kind, "kind"), (self.queue, "queue")):
            if name is not None:
                check_name(name, what)
        if self.key_prefix is not None:
            check_key(self.key_prefix, "A key's prefix")
            if self.kind is None:
                raise OptionInvalid("A key belongs to a kind; pass the kind with the prefix.")
        if self.before is not None:
            check_id(self.before, "job")
        check_whole(self.limit, 1, PAGE_MAX, "limit")


def listing(store: Store, wanted: JobFilter) -> list[JobSnapshot]:
    """List jobs, newest first. A page that continues `before` the last id of another repeats and omits nothing."""
    wanted.check()
    rows = store.reports.jobs(
        status=wanted.status,
        kind=wanted.kind,
        queue=wanted.queue,
        key_prefix=wanted.key_prefix or "",
        before=wanted.before,
        most=wanted.limit,
    )
    return [_snapshot(store, row, whole=False) for row in rows]


def _snapshot(store: Store, row: JobRow, *, whole: bool) -> JobSnapshot:
    output = None if row.output is None else canonical.decode(row.output)
    if whole and row.has_parts and row.status == Status.DONE:
        output = store.stages.outputs(row.id)
    return from_fields(
        JobSnapshot,
        row,
        payload=canonical.decode(row.payload),
        status=Status(row.status),
        output=output,
        failure=None if row.failure is None else canonical.decode(row.failure),
        created_at=clock.moment(row.created_at),
        finished_at=clock.moment(row.finished_at),
        has_parts=bool(row.has_parts),
    )
