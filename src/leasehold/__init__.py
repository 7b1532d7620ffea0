"""Leasehold: work that must not be lost and must not be done twice. The public names, nothing else."""

from leasehold.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "app.facade": ["Leasehold"],
        "app.job": ["Job"],
        "errors": [
            "ArgumentsInvalid",
            "Broken",
            "BudgetExceeded",
            "Cancelled",
            "InDoubt",
            "JobUnknown",
            "KeyConflict",
            "KindUnknown",
            "LeaseLost",
            "LeaseholdError",
            "Misuse",
            "Overtaken",
            "PayloadInvalid",
            "Permanent",
            "Released",
            "TimedOut",
            "Transient",
            "Unavailable",
            "VersionPruned",
            "VersionStale",
            "WaitTimeout",
        ],
        "insight.explain.explanation": ["Cause", "CauseCode", "Explanation"],
        "insight.read.tasks": ["JobProgress", "TaskCounts", "TaskView"],
        "model.failure.verdict": ["Verdict"],
        "model.retry": ["Retry"],
        "model.status": ["Status"],
        "model.tree.budget": ["Budget"],
        "model.tree.link": ["LinkedJob"],
        "runtime.manual": ["Held"],
        "runtime.task": ["Task"],
    },
)
