"""A job as people and programs see it."""

from datetime import datetime
from typing import Any

from leasehold import canonical, clock
from leasehold.errors import JobUnknown
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


def listing(
    store: Store,
    *,
    status: str | None,
    kind: str | None,
    queue: str | None = None,
    before: int | None = None,
    limit: int,
) -> list[JobSnapshot]:
    rows = store.reports.jobs(status=status, kind=kind, queue=queue, before=before, most=limit)
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
