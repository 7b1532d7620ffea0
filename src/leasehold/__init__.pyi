from leasehold.app.facade import Leasehold
from leasehold.app.job import Job
from leasehold.errors import (
    Broken,
    Cancelled,
    InDoubt,
    KeyConflict,
    LeaseholdError,
    LeaseLost,
    Misuse,
    Overtaken,
    Permanent,
    Released,
    Transient,
    Unavailable,
    VersionPruned,
    VersionStale,
)
from leasehold.model.failure.verdict import Verdict
from leasehold.model.retry import Retry
from leasehold.model.status import Status
from leasehold.runtime.manual import Held
from leasehold.runtime.task import Task

__all__ = [
    "Broken",
    "Cancelled",
    "Held",
    "InDoubt",
    "Job",
    "KeyConflict",
    "LeaseLost",
    "Leasehold",
    "LeaseholdError",
    "Misuse",
    "Overtaken",
    "Permanent",
    "Released",
    "Retry",
    "Status",
    "Task",
    "Transient",
    "Unavailable",
    "Verdict",
    "VersionPruned",
    "VersionStale",
]
