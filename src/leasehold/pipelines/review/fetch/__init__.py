"""Fetches changes from Perforce, git and plain diffs: within the allow-list, within limits, or not at all.

    fetcher = ChangeFetcher(allow_list, find_perforce())
    fetcher.fetch_perforce("12345")       fetcher.fetch_git(folder, "HEAD~1..HEAD")       fetch_diff(text)

Everything that comes back is raw: it is redacted before anything else is done with it.
"""

from leasehold.pipelines.review.fetch.allow_list import AllowList, AllowListInvalid, PathDenied
from leasehold.pipelines.review.fetch.allow_list_audit import AllowListAudit, AllowListAuditDamaged, AllowListChange
from leasehold.pipelines.review.fetch.change import (
    Change,
    ChangedFile,
    ChangeTooLarge,
    FetchLimits,
    FileAction,
    LeftOut,
    LeftOutReason,
    RevisionInvalid,
)
from leasehold.pipelines.review.fetch.fetcher import ChangeFetcher
from leasehold.pipelines.review.fetch.perforce import Perforce, PerforceFailed, find_perforce
from leasehold.pipelines.review.fetch.security import SecurityEvent, log_security_event
from leasehold.pipelines.review.fetch.unified_diff import DiffInvalid, fetch_diff

__all__ = [
    "AllowList",
    "AllowListAudit",
    "AllowListAuditDamaged",
    "AllowListChange",
    "AllowListInvalid",
    "Change",
    "ChangeFetcher",
    "ChangeTooLarge",
    "ChangedFile",
    "DiffInvalid",
    "FetchLimits",
    "FileAction",
    "LeftOut",
    "LeftOutReason",
    "PathDenied",
    "Perforce",
    "PerforceFailed",
    "RevisionInvalid",
    "SecurityEvent",
    "fetch_diff",
    "find_perforce",
    "log_security_event",
]
