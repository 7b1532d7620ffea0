"""The journal's events: one per change of place, machine transition, spend, linked job, cancel and cleared loss."""

from enum import StrEnum

from msgspec import Struct


class Name(StrEnum):
    SUBMITTED = "submitted"
    BUDGETED = "budgeted"
    ADVANCED = "advanced"
    CLAIMED = "claimed"
    RELEASED = "released"
    RECLAIMED = "reclaimed"
    CLEARED = "cleared"
    RETRIED = "retried"
    DONE = "done"
    FAILED = "failed"
    ASKED = "asked"
    MOVED = "moved"
    SPENT = "spent"
    REFUSED = "refused"
    LINKED = "linked"
    CANCELLED = "cancelled"
    REVIVED = "revived"
    SUPERSEDED = "superseded"


class Event(Struct, frozen=True):
    """One line of the journal, as it is read back."""

    id: int
    task_id: int
    at: int
    name: str
    fence: int | None
    attempt: int | None
    worker: int | None
    detail: str | None
