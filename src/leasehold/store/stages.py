"""Tasks that wait: stages for prerequisites, jobs for their stages, retries for their time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from leasehold import canonical
from leasehold.errors import PayloadTooLarge
from leasehold.model.advance import Dependent, Ended, SettledTask, Tally
from leasehold.model.limits import ADVANCE_MAX, INPUT_BYTES_MAX, SWEEP_MAX
from leasehold.model.task import Child, Facts
from leasehold.store.db.database import Noun, Row, Session
from leasehold.store.db.documents import document
from leasehold.store.tasks import add_children

T = TypeVar("T")


class Advanced(Struct, frozen=True):
    """What one batch did: how many tasks it handled, and the queues that got new work."""

    count: int
    queues: frozenset[str] = frozenset()


class StageSteps:
    """The steps of advancing, within one transaction. `model.advance` decides which are taken."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def take_unsettled(self) -> list[SettledTask]:
        """Remove a batch of settled tasks from those to be handled, and return it."""
        return [SettledTask(*row) for row in self._session.run("stages/take_unsettled", most=ADVANCE_MAX)]

    def dependents(self, settled: Iterable[SettledTask]) -> list[Dependent]:
        rows = self._session.run("stages/dependents", tasks=document([task.task_id for task in settled]))
        return [Dependent(row[0], row[1], bool(row[2]), row[3], row[4]) for row in rows]

    def make_ready(self, tasks: Sequence[int]) -> set[str]:
        return {row[1] for row in self._session.run("stages/make_ready", tasks=document(tasks))} if tasks else set()

    def fan_out_sources(self, tasks: Sequence[int]) -> list[Facts]:
        rows = self._session.run("stages/fan_out_sources", tasks=document(tasks)) if tasks else []
        return [Facts(*row) for row in rows]

    def spawn(self, segments: Sequence[Child]) -> None:
        add_children(self._session, segments)

    def count_part_outcomes(self, tasks: Sequence[int]) -> dict[int, Tally]:
        rows = self._session.run("stages/count_part_outcomes", tasks=document(tasks)) if tasks else []
        return {row[0]: Tally(*row) for row in rows}

    def count_down(self, counts: Mapping[int, int]) -> None:
        """Store how many tasks each of these still waits for."""
        if counts:
            rows = [{"task_id": task_id, "unmet": unmet} for task_id, unmet in counts.items()]
            self._session.run("stages/count_down", counts=document(rows))

    def conclude(self, ends: Sequence[Ended]) -> None:
        """End tasks that have not run themselves."""
        if ends:
            self._session.run("stages/conclude", ends=document(ends))


class Stages(Noun):
    def in_one_transaction(self, work: Callable[[StageSteps], T]) -> T:
        """Run `work` with the steps of advancing; after a database error it is called again."""
        return self._database.transact(lambda session: work(StageSteps(session)))

    def make_due(self) -> Advanced:
        """Make a batch of tasks ready whose time has come."""
        rows = self._database.write("stages/make_due", most=SWEEP_MAX)
        return Advanced(len(rows), frozenset(row[1] for row in rows))

    def inputs(self, task_id: int) -> dict[str, Any]:
        """Return the outputs of the stages a task waited for; a list, in order, for each that fanned out."""
        size = self._database.read("stages/inputs_size", task=task_id)[0][0]
        if size > INPUT_BYTES_MAX:
            raise PayloadTooLarge(f"The inputs have {size:,} bytes; the limit is {INPUT_BYTES_MAX:,}.")
        return _by_stage(self._database.read("stages/inputs", task=task_id))

    def outputs(self, job_id: int) -> dict[str, Any]:
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
