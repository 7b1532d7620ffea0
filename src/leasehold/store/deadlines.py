"""Deadlines: when jobs must have ended. A row is removed when its time has come, or when the job is revived."""

from collections.abc import Sequence

from msgspec import Struct

from leasehold.model.limits import SWEEP_MAX
from leasehold.store.db.database import Noun, Session
from leasehold.store.db.documents import document
from leasehold.store.tasks import CANCEL_PASSES


class PassedDeadline(Struct, frozen=True):
    """A job that should have ended; `after_us` is how long it had."""

    job_id: int
    after_us: int


class Deadlines(Noun):
    def add(self, job_ids: Sequence[int], after_us: int) -> None:
        """Set the deadline of new jobs, counted from their submit."""
        self._database.write("deadlines/add", jobs=document(job_ids), after_us=after_us)

    def passed(self) -> list[PassedDeadline]:
        return self._list(PassedDeadline, "deadlines/passed", most=SWEEP_MAX)

    def end(self, job_id: int, reason: str) -> bool:
        """End a job whose deadline has passed, unless it has none any more; return whether running tasks must stop.

        `reason` is canonical JSON of a failure.
        """

        def work(session: Session) -> int | None:
            if not session.run("deadlines/hold", job=job_id):
                return None
            return int(session.run("tasks/cancel", job=job_id, reason=reason)[0][1])

        stops = False
        for _ in range(CANCEL_PASSES):
            asked = self._database.transact(work)
            stops = stops or bool(asked)
            # A claim or a fan-out that was running is visible only to the next pass.
            if asked is None or self._database.read("tasks/cancellable", job=job_id)[0][0] == 0:
                self._database.write("deadlines/remove", jobs=document([job_id]))
                break
        return stops
