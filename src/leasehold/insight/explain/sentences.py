"""What a cause is called in words: who waits, what for, and the command that helps."""

from __future__ import annotations

import shlex
from typing import Any, Final

from leasehold import canonical, clock
from leasehold.errors import number_text
from leasehold.insight.limits import MESSAGE_SHOWN_MAX
from leasehold.insight.read.tasks import progress_of
from leasehold.insight.wording import attempts, duration, several, until
from leasehold.store.holdups import OpenTask, QueueStanding, SlotHolder, UnmetNeed

WORKER: Final = "`leasehold worker MODULE:APP`"


def subject(task: OpenTask) -> str:
    """Name what waits; segments are counted from 1."""
    if task.stage is None:
        return "It"
    return f"Stage '{task.stage}'" if task.segment is None else f"Segment {task.segment + 1} of stage '{task.stage}'"


def since(moment: int, now: int) -> str:
    return duration(max(0, now - moment) / clock.SECOND)


def failure_of(text: str | None) -> str:
    """Return the class and the first line of a recorded failure, to stand at the end of a sentence."""
    failure: dict[str, Any] = canonical.decode(text) if text else {}
    lines = str(failure.get("message") or "no reason was recorded").splitlines()
    return f"{failure.get('error_class', 'UNCLASSIFIED')}: {lines[0][:MESSAGE_SHOWN_MAX].removesuffix('.')}"


def setback(task: OpenTask) -> str:
    """Describe what became of the attempt before."""
    found = canonical.decode(task.setback) if task.setback else {}
    number = attempts(task.attempt, task.attempts_max, task.losses)
    return (
        f"attempt {number} lost its worker"
        if "why" in found
        else f"attempt {number} failed with {failure_of(task.setback)}"
    )


def need(unmet: UnmetNeed) -> str:
    stage = f"stage '{unmet.stage}'"
    left = unmet.parts - unmet.ended
    return f"{left:,} of {unmet.parts:,} segments of {stage}" if left > 0 else stage


def holder(one: SlotHolder, now: int) -> str:
    where = "" if one.host is None else f" on {one.host}:{one.pid}" if one.pid else f" by {one.host}"
    return f"job {one.job_id} ({one.kind}, for {since(one.started_at, now)}{where})"


def holders(queue: QueueStanding, now: int) -> str:
    names = [holder(one, now) for one in queue.holders]
    more = queue.held - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def rate(queue: QueueStanding) -> str:
    assert queue.pace_us
    return number_text(float(f"{clock.SECOND / queue.pace_us:g}")).replace(",", "")  # also as an argument


def raise_limit(queue: QueueStanding) -> str:
    """Return the command that doubles a limit and keeps its rate."""
    assert queue.capacity
    kept = f" --rate {rate(queue)}" if queue.pace_us else ""
    return f"`leasehold queues limit {shlex.quote(str(queue.limited_by))} {2 * queue.capacity}{kept}`"


def running(task: OpenTask, now: int) -> str:
    """Describe an attempt that runs."""
    found = progress_of(task.progress)
    report = "" if found is None else f", progress {found}"
    started, expires = task.started_at or now, task.expires_at or now
    number = attempts(task.attempt, task.attempts_max, task.losses, failed=False)
    return (
        f"attempt {number} on {task.holder} for {since(started, now)}{report}; its lease"
        f" is renewed, or ends at {until(expires, now)}"
    )


def routes_of(served: dict[str, list[str]]) -> str:
    """List what each worker has."""
    return several([f"{name} has {several(sorted(found)) or 'nothing'}" for name, found in served.items()], 2)
