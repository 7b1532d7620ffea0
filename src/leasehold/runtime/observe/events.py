"""What the runtime reports, as events. This module alone turns them into log lines; nothing else logs."""

import threading
from typing import Any, Final

from leasehold import canonical, clock
from leasehold.errors import DatabaseUnavailable
from leasehold.model.lease import Lease
from leasehold.model.outbox import ClaimedDelivery, DeliveryMark, DeliveryRow, DeliveryStatus
from leasehold.model.status import Status
from leasehold.runtime.observe.logs import Log, clean

ERROR_LENGTH_MAX: Final = 500
REPEATING: Final = frozenset({"claimer", "heartbeat", "upkeep"})  # they ask again until they get an answer
TRACEBACKS: Final = "leasehold.tracebacks"  # at debug: `leasehold worker --tracebacks` enables this logger alone


class Outage:
    """Which parts of a worker the database does not answer, and since when."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: set[str] = set()
        self._since = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    def begin(self, part: str) -> bool:
        """Note that a part got no answer; True if it is the first one. Upkeep stands in for those that give up."""
        with self._lock:
            is_first = not self._parts
            self._parts.add(part if part in REPEATING else "upkeep")
            self._since = clock.uptime() if is_first else self._since
            return is_first

    def end(self, part: str) -> float | None:
        """Note that a part got an answer; return how many seconds the outage took if it was the last one without."""
        with self._lock:
            if part not in self._parts:
                return None
            self._parts.remove(part)
            return None if self._parts else (clock.uptime() - self._since) / clock.SECOND


class _Events:
    """Reports of one process. A line holds names and numbers, never payloads or results."""

    def __init__(self, **context: object) -> None:
        self._log = Log("leasehold", **context)
        self._traceback_log = Log(TRACEBACKS, **context)
        self._outage = Outage()


class _DeliveryEvents(_Events):
    """What a relay reports."""

    def relay_started(self, providers: list[str]) -> None:
        self._log.info("relay_started", providers=providers)

    def deliveries_unfinished(self, count: int) -> None:
        """The relay ends while deliveries are being sent; they will be looked up."""
        self._log.warning("deliveries_unfinished", count=count)

    def delivery_marked(self, taken: ClaimedDelivery, mark: DeliveryMark, *, landed: bool) -> None:
        """A delivery was marked; one in doubt or failed waits for a person."""
        facts: dict[str, Any] = {"delivery": taken.id, "provider": taken.provider, "attempt": taken.attempts}
        if not landed:
            self._log.warning("delivery_overtaken", **facts, ending=mark.status)
        elif mark.status == DeliveryStatus.SENT:
            self._log.info("delivery_sent", **facts)
        elif mark.delay_us is None:
            self._log.error(f"delivery_{mark.status}", **facts)
        else:
            self._log.warning("delivery_rescheduled", **facts, ending=mark.status, delay_us=mark.delay_us)

    def delivery_suspect(self, row: DeliveryRow) -> None:
        """Raise the alarm: a delivery was marked sent without evidence, which the order of send and mark rules out."""
        self._log.error("delivery_suspect", delivery=row.id, provider=row.provider, task=row.task_id)


class EventLog(_DeliveryEvents):
    """What a worker reports, and its relay."""

    def started(self, queues: list[str], concurrency: int) -> None:
        self._log.info("worker_started", queues=queues, concurrency=concurrency)

    def stopping(self, released: int, running: int) -> None:
        self._log.info("worker_stopping", released=released, running=running)

    def stopped(self, left: int) -> None:
        """The worker ends; `left` attempts were still running."""
        self._log.info("worker_stopped", left=left)

    def attempt_failed(self, lease: Lease, ending: str, failure: str | None) -> None:
        """An attempt was settled as RETRY, ERROR or CANCELLED; its failure, if it has one, is redacted already."""
        found = canonical.decode(failure or "{}")
        if ending == Status.CANCELLED:
            self._log.info("attempt_cancelled", **_facts(lease))
        else:
            error_class, message = found.get("error_class"), str(found.get("message"))[:ERROR_LENGTH_MAX]
            self._log.warning("attempt_failed", **_facts(lease), error_class=error_class, error=message, ending=ending)
        if stack := found.get("stack"):
            self._traceback_log.debug("attempt_traceback", **_facts(lease), trace=stack)

    def attempt_abandoned(self, lease: Lease, abandoned: int, place: str) -> None:
        """A handler did not stop after a cancel or its time-out: its attempt ended without it, while it still runs.

        `abandoned` of them run here now. Beyond the worker's concurrency their places stay occupied.
        """
        self._log.error("attempt_abandoned", **_facts(lease), abandoned=abandoned, place=place)

    def abandoned_returned(self, lease: Lease) -> None:
        """The handler of an abandoned attempt has returned after all; its result counts no more."""
        self._log.info("abandoned_returned", **_facts(lease))

    def lease_lost(self, lease: Lease, why: str) -> None:
        """An attempt's end no longer counts: its lease was lost."""
        self._log.warning("lease_lost", **_facts(lease), why=why)

    def leases_reclaimed(self, count: int, why: str) -> None:
        self._log.warning("leases_reclaimed", count=count, why=why)

    def suspects_cleared(self, task_id: int, count: int) -> None:
        """A suspect was convicted: what was lost with it runs with all others again."""
        self._log.warning("suspects_cleared", convicted=task_id, count=count)

    def deliveries_reclaimed(self, count: int) -> None:
        """A relay is gone: what it had claimed is due at once."""
        self._log.warning("deliveries_reclaimed", count=count)

    def component_failed(self, part: str, error: BaseException) -> None:
        """A component of the worker had an error and continues. A database that is away is reported once."""
        text = clean(f"{type(error).__name__}: {error}")[:ERROR_LENGTH_MAX]
        if not isinstance(error, DatabaseUnavailable):
            self._log.error("component_failed", part=part, error=text)
        elif self._outage.begin(part):
            self._log.error("database_away", part=part, error=text)

    def component_answered(self, part: str) -> None:
        """The database has answered a component; when it has answered all that it had not, it is back."""
        if self._outage and (seconds := self._outage.end(part)) is not None:
            self._log.warning("database_back", seconds=round(seconds, 1))


def _facts(lease: Lease) -> dict[str, Any]:
    """Name an attempt. Commands take the id of the job, not of a stage or a segment."""
    return {
        "job": lease.job_id,
        "task": lease.task_id,
        "route": lease.route,
        "attempt": lease.attempt,
        "fence": lease.fence,
    }
