from leasehold.app.facade import Leasehold
from leasehold.app.job import Job
from leasehold.errors import (
    ArgumentsInvalid,
    Broken,
    BudgetExceeded,
    Cancelled,
    InDoubt,
    JobUnknown,
    KeyConflict,
    KindUnknown,
    LeaseholdError,
    LeaseLost,
    Misuse,
    Overtaken,
    PayloadInvalid,
    Permanent,
    Released,
    TimedOut,
    Transient,
    Unavailable,
    VersionPruned,
    VersionStale,
    WaitTimeout,
)
from leasehold.insight.explain.explanation import Cause, CauseCode, Explanation
from leasehold.insight.read.tasks import JobProgress, TaskCounts, TaskView
from leasehold.model.failure.verdict import Verdict
from leasehold.model.retry import Retry
from leasehold.model.status import Status
from leasehold.model.tree.budget import Budget
from leasehold.model.tree.link import LinkedJob
from leasehold.runtime.manual import Held
from leasehold.runtime.task import Task

__all__ = [
    "ArgumentsInvalid",
    "Broken",
    "Budget",
    "BudgetExceeded",
    "Cancelled",
    "Cause",
    "CauseCode",
    "Explanation",
    "Held",
    "InDoubt",
    "Job",
    "JobProgress",
    "JobUnknown",
    "KeyConflict",
    "KindUnknown",
    "LeaseLost",
    "Leasehold",
    "LeaseholdError",
    "LinkedJob",
    "Misuse",
    "Overtaken",
    "PayloadInvalid",
    "Permanent",
    "Released",
    "Retry",
    "Status",
    "Task",
    "TaskCounts",
    "TaskView",
    "TimedOut",
    "Transient",
    "Unavailable",
    "Verdict",
    "VersionPruned",
    "VersionStale",
    "WaitTimeout",
]
