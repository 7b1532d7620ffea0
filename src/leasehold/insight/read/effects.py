"""A job's effects as people and programs see them."""

from typing import Any

from leasehold import canonical
from leasehold.insight.read import jobs
from leasehold.model.limits import PAGE_MAX
from leasehold.model.status import Status
from leasehold.shapes import View, from_fields
from leasehold.store import Store
from leasehold.store.effects import EffectRow


class EffectView(View, frozen=True):
    """One effect. `state` is done, failed, intended, or in_doubt: intended, and its task no longer runs."""

    task_id: int
    stage: str | None
    segment: int | None
    number: int
    kind: str
    key: str
    state: str
    attempt: int
    fields: dict[str, Any]
    result: Any
    failure: dict[str, Any] | None
    intended_at: int
    recorded_at: int | None


def of(store: Store, job_id: int) -> list[EffectView]:
    """List a job's effects in order, or raise `JobUnknown`."""
    jobs.find(store, job_id, whole=False)
    running = {part.id for part in store.reports.tasks(job_id, 100_000) if part.status == Status.RUNNING}
    return [_view(row, running) for row in rows_of(store, job_id)]


def rows_of(store: Store, job_id: int) -> list[EffectRow]:
    found: list[EffectRow] = []
    while True:
        page = store.effects.of(job_id, found[-1] if found else None, PAGE_MAX)
        found += page
        if len(page) < PAGE_MAX:
            return found


def _view(row: EffectRow, running: set[int]) -> EffectView:
    return from_fields(
        EffectView,
        row,
        state=state_of(row, is_running=row.task_id in running),
        fields=canonical.decode(row.fields),
        result=None if row.result is None else canonical.decode(row.result),
        failure=None if row.failure is None else canonical.decode(row.failure),
    )


def state_of(row: EffectRow, *, is_running: bool) -> str:
    if row.result is not None:
        return "done"
    if row.failure is not None:
        return "failed"
    return "intended" if is_running else "in_doubt"
