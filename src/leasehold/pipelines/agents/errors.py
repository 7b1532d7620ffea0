"""Errors of the agents pipeline: each has a code of the document or one of its families, and facts as plain fields.

`plain()` is what every edge shows: `{"code": …, "message": …, "context": {…}}`.
"""

from typing import Any, ClassVar, Final

from leasehold.errors import Broken, LeaseholdError, Misuse, Overtaken, Unavailable


class UrmError(LeaseholdError, code="URM_ERROR"):
    """The agents pipeline could not carry out the call."""

    def __init__(self, detail: str = "", **context: Any) -> None:
        super().__init__(detail)
        self.context = {name: value for name, value in context.items() if value is not None}

    def plain(self) -> dict[str, Any]:
        return {"code": self.code, "message": str(self), "context": self.context}


class ReplayOrderInvalid(UrmError, Broken, code="URM_SCHEDULER_REPLAY_ORDER_INVALID"):
    """The stored order of dispatches or events is broken; replay would not be the same."""


class PhaseEventMismatch(UrmError, Broken, code="URM_SCHEDULER_PHASE_EVENT_ATOMICITY_VIOLATION"):
    """A dispatch token's phase and its worker events do not match, although one transaction writes both."""


class DispatchLeaseConflict(UrmError, Overtaken, code="URM_DISPATCH_LEASE_CONFLICT"):
    """Another child of this session has this queue place, lease or name."""


class PhaseInvalid(UrmError, Overtaken, code="URM_DISPATCH_PHASE_INVALID"):
    """The child is not in a phase that allows this; phases go queued, leased, started, terminal, and never back."""


class TokenImmutable(UrmError, Broken, code="URM_DISPATCH_TOKEN_IMMUTABLE"):
    """A field of a dispatch token is set once and never changed."""


class EventAppendOnly(UrmError, Broken, code="URM_EVENT_APPEND_ONLY"):
    """Events and answers are appended, never changed or removed."""


class AccountingModeInvalid(UrmError, Misuse, code="URM_DISPATCH_ACCOUNTING_MODE_INVALID"):
    """Budgets are accounted as `running_total_v1`; reservations are not mixed with it."""


class ConcurrencyCapInvalid(UrmError, Misuse, code="URM_DISPATCH_CONCURRENCY_CAP_INVALID"):
    """`max_active_children` is 1 or 2, or any larger number in a session that declares `contract = "open"`."""


class IdempotencyConflict(UrmError, Misuse, code="URM_IDEMPOTENCY_KEY_CONFLICT"):
    """This `client_request_id` was used with another body; use a new one or send the same body."""


class RecoveryPending(UrmError, Unavailable, code="URM_SCHEDULER_RECOVERY_PENDING"):
    """Children of coordinators that are gone are not ended yet; try again after the recovery."""


class SessionUnknown(UrmError, Misuse, code="URM_SESSION_UNKNOWN"):
    """There is no session of this name; start it first."""


class SessionInvalid(UrmError, Misuse, code="URM_SESSION_INVALID"):
    """A session, child or request is named with letters, digits and `._-`, at most 128, and keeps its contract."""


class SessionInactive(UrmError, Overtaken, code="URM_SESSION_NOT_ACTIVE"):
    """The session has no coordinator, or another one than this."""


class SessionEnded(UrmError, Overtaken, code="URM_SESSION_ENDED"):
    """The session has ended with all its children; start another one with a new id."""


class ChildUnknown(UrmError, Misuse, code="URM_CHILD_UNKNOWN"):
    """There is no child of this name."""


class EventFileDamaged(UrmError, Broken, code="URM_EVENT_STREAM_DAMAGED"):
    """An event file differs from the stored events before its last line; rebuild it from the database."""


class EventFolderInvalid(UrmError, Misuse, code="URM_EVENT_FOLDER_INVALID"):
    """Event files are `copilot/NAME.ndjson`, `urm_audit/NAME.ndjson` and `child/NAME.ndjson` in one folder."""


class StopGateInputInvalid(UrmError, Misuse, code="URM_STOP_GATE_INPUT_INVALID"):
    """The stop gate cannot read its manifest or a fixture of it."""


class FixtureEndsDiffer(UrmError, Broken, code="URM_STOP_GATE_ENDS_DIFFER"):
    """The children of a fixture did not end as the fixture states."""


class RecordsUnavailable(UrmError, Unavailable, code="URM_RECORDS_UNAVAILABLE"):
    """The database of the session does not answer; try again later."""


class RecordsMissing(UrmError, Misuse, code="URM_RECORDS_MISSING"):
    """The database has no tables of the agents pipeline, or those of another version."""


class RecordsRefused(UrmError, Broken, code="URM_RECORDS_REFUSED"):
    """The database refused a statement of the agents pipeline."""


# By the constraint that a database names, or the code that a trigger gives; the names are the same in both dialects.
REFUSALS: Final[dict[str, type[UrmError]]] = {
    "urm_dispatch_token.dispatch_seq": ReplayOrderInvalid,
    "urm_dispatch_token.queue_seq": DispatchLeaseConflict,
    "urm_dispatch_token.worker_run_id": DispatchLeaseConflict,
    "urm_dispatch_token.child_id": DispatchLeaseConflict,
    "urm_event.seq": ReplayOrderInvalid,
    "urm_event.child_id": PhaseEventMismatch,
    "urm_dispatch_token_lease": PhaseInvalid,
    "urm_session_accounting_mode": AccountingModeInvalid,
    "urm_session_max_active_children": ConcurrencyCapInvalid,
    ReplayOrderInvalid.code: ReplayOrderInvalid,
    PhaseInvalid.code: PhaseInvalid,
    TokenImmutable.code: TokenImmutable,
    EventAppendOnly.code: EventAppendOnly,
}


class ChildCode:
    """Codes that end children: `code` of a WORKER_FAIL. They are values, not exceptions."""

    LEASE_ORPHANED: ClassVar = "URM_SCHEDULER_LEASE_ORPHANED"
    TERMINATED_ON_RESTART: ClassVar = "URM_CHILD_TERMINATED_ON_RESTART"
    BUDGET_EXCEEDED: ClassVar = "URM_CHILD_BUDGET_EXCEEDED"
    CANCELLED: ClassVar = "URM_CHILD_CANCELLED"
    FAILED: ClassVar = "URM_CHILD_FAILED"
    TIMED_OUT: ClassVar = "URM_CHILD_TIMED_OUT"
    STOPPED: ClassVar = "URM_CHILD_STOPPED"
    PREREQUISITE_FAILED: ClassVar = "URM_CHILD_PREREQUISITE_FAILED"


# Ends of children that did not end by themselves: what `--again` spawns once more.
LOST: Final = frozenset({ChildCode.LEASE_ORPHANED, ChildCode.TERMINATED_ON_RESTART, ChildCode.STOPPED})
