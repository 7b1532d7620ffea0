"""What waits.

Stages for prerequisites, jobs for their stages, retries for their time. `advance` is the orchestrator's one verb.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from leasehold import canonical
from leasehold.errors import PayloadTooLarge
from leasehold.model import advance
from leasehold.model.advance import Dependent, Ended, Settled, Tally
from leasehold.model.failure.failure import Failure
from leasehold.model.limits import ADVANCE_MAX, INPUT_BYTES_MAX, SWEEP_MAX
from leasehold.model.status import Status
from leasehold.model.task import Facts
from leasehold.store.db.database import Database, Row, Session
from leasehold.store.db.documents import document
from leasehold.store.tasks import add_children


class Advanced(Struct, frozen=True):
    """What one pass did: how many ends it looked at, and the queues that got new work."""

    seen: int
    queues: frozenset[str]


class Stages:
    """The noun `store.stages`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def advance(self) -> Advanced:
        """Look at a batch of settled tasks and move what waited for them. Any number may run at once."""
        return self._database.transact(_advance)

    def make_due(self) -> Advanced:
        """Make a batch of tasks ready whose time has come."""
        rows = self._database.write("stages/make_due", most=SWEEP_MAX)
        return Advanced(len(rows), frozenset(row[1] for row in rows))

    def inputs(self, task_id: int) -> dict[str, Any]:
        """Return the outputs of the stages a task waited for; a list, in order, for one that fanned out."""
        size = self._database.read("stages/inputs_size", task=task_id)[0][0]
        if size > INPUT_BYTES_MAX:
            raise PayloadTooLarge(f"The inputs have {size:,} bytes; the limit is {INPUT_BYTES_MAX:,}.")
        return _by_stage(self._database.read("stages/inputs", task=task_id))

    def outputs(self, job_id: int) -> dict[str, Any]:
        """Return the outputs of a pipeline job's last stages."""
        return _by_stage(self._database.read("stages/outputs", job=job_id))


def _by_stage(rows: Sequence[Row]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for stage, segment, output, fanned in rows:
        value = None if output is None else canonical.decode(output)
        if not fanned:
            found[stage] = value
        else:
            found.setdefault(stage, [])
            if segment is not None:
                found[stage].append(value)
    return found


def _advance(session: Session) -> Advanced:
    settled = [Settled(*row) for row in session.run("stages/take_unsettled", most=ADVANCE_MAX)]
    if not settled:
        return Advanced(0, frozenset())
    rows = session.run("stages/dependents", tasks=document([end.task_id for end in settled]))
    moves = advance.decide(settled, [Dependent(row[0], row[1], bool(row[2]), row[3], row[4]) for row in rows])
    queues: set[str] = set()
    if moves.ready:
        queues |= {row[1] for row in session.run("stages/make_ready", tasks=document(moves.ready))}
    ends = list(moves.cancel)
    counts = dict(moves.count_down)
    for group in _groups(session, moves.fan_out):
        _fan_out(session, group, ends, counts, queues)
    ends += _conclusions(session, moves.conclude)
    _write(session, ends, counts)
    return Advanced(len(settled), frozenset(queues))


def fan_out(session: Session, task_id: int) -> set[str]:
    """Make the segments of a stage that waits for nothing else, or bury it; return the queues that got work."""
    ends: list[Ended] = []
    counts: dict[int, int] = {}
    queues: set[str] = set()
    for group in _groups(session, [task_id]):
        _fan_out(session, group, ends, counts, queues)
    _write(session, ends, counts)
    return queues


def _write(session: Session, ends: list[Ended], counts: dict[int, int]) -> None:
    if counts:
        document_of = document([{"task_id": task_id, "unmet": unmet} for task_id, unmet in counts.items()])
        session.run("stages/count_down", counts=document_of)
    if ends:
        session.run("stages/conclude", ends=document(ends))


def _groups(session: Session, tasks: list[int]) -> list[Facts]:
    return [Facts(*row) for row in session.run("stages/fan_out_sources", tasks=document(tasks))] if tasks else []


def _fan_out(session: Session, group: Facts, ends: list[Ended], counts: dict[int, int], queues: set[str]) -> None:
    segments = advance.fan_out(group)
    if isinstance(segments, Failure):
        ends.append(Ended(group.id, Status.ERROR, segments.text(), buried=True))
    elif not segments:
        ends.append(Ended(group.id, Status.DONE))
    else:
        add_children(session, segments)
        counts[group.id] = len(segments)
        queues.add(group.queue)


def _conclusions(session: Session, tasks: list[int]) -> list[Ended]:
    if not tasks:
        return []
    tallies = {row[0]: Tally(*row) for row in session.run("stages/count_part_outcomes", tasks=document(tasks))}
    return [advance.conclude(task_id, tallies.get(task_id)) for task_id in tasks]
