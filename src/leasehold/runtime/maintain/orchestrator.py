"""The orchestrator: NEW → READY, from data alone. It needs no user code, runs no task; any number may run at once."""

from collections.abc import Callable

from leasehold import clock
from leasehold.model import advance
from leasehold.model.advance import Ended
from leasehold.model.failure.failure import too_late
from leasehold.store import Store
from leasehold.store.db.wake import ATTENTION
from leasehold.store.stages import Advanced, StageSteps


class Orchestrator:
    """Moves what waits: for prerequisites, for parts, for a time."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def advance(self) -> set[str]:
        """Move everything that waits for a settled task; return the queues that got work."""
        return _repeat(self.advance_batch)

    def advance_batch(self) -> Advanced:
        """Move what waits for a batch of settled tasks, in one transaction."""
        return self._store.stages.in_one_transaction(_advance)

    def end_late(self) -> set[str]:
        """End the jobs whose deadline has passed; their running tasks are stopped by the workers that hold them."""
        while late := self._store.deadlines.passed():
            for job in late:
                if self._store.deadlines.end(job.job_id, too_late(job.after_us / clock.SECOND).text()):
                    self._store.wake([ATTENTION])
        return set()

    def make_due(self) -> set[str]:
        """Make ready what has become due; return the queues that got work."""
        return _repeat(self._store.stages.make_due)


def _repeat(step: Callable[[], Advanced]) -> set[str]:
    queues: set[str] = set()
    while (done := step()).count:
        queues |= done.queues
    return queues


def _advance(stages: StageSteps) -> Advanced:
    settled = stages.take_unsettled()
    if not settled:
        return Advanced(0)
    moves = advance.decide(settled, stages.dependents(settled))
    queues = stages.make_ready(moves.ready)
    ends, counts = list(moves.cancel), dict(moves.count_down)
    for stage in stages.fan_out_sources(moves.fan_out):
        match advance.fan_out(stage):
            case Ended() as end:
                ends.append(end)
            case segments:
                stages.spawn(segments)
                counts[stage.id] = len(segments)
                queues.add(stage.queue)
    tallies = stages.count_part_outcomes(moves.conclude)
    ends += [advance.conclude(task_id, tallies.get(task_id)) for task_id in moves.conclude]
    stages.count_down(counts)
    stages.conclude(ends)
    return Advanced(len(settled), frozenset(queues))
