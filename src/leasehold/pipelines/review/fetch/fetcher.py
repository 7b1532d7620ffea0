"""The one place where changelists and their files are fetched, and where the allow-list is enforced.

Paths are checked before p4 is asked at all, when a changelist is described, and again for each file that comes back.
One path outside refuses the whole change: nothing of it is returned, and a security event is reported first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leasehold.errors import Misuse
from leasehold.pipelines.review.fetch.allow_list import AllowList, PathDenied
from leasehold.pipelines.review.fetch.change import (
    Change,
    ChangeBuilder,
    FetchLimits,
    FileAction,
    LeftOutReason,
    is_generated,
)
from leasehold.pipelines.review.fetch.git_changes import fetch_git
from leasehold.pipelines.review.fetch.perforce import Changelist, DescribedFile, Perforce, PerforceAction
from leasehold.pipelines.review.fetch.security import SecurityLog, log_security_event, path_denied
from leasehold.pipelines.review.fetch.unified_diff import added_hunk, fetch_diff, hunks_only
from leasehold.pipelines.shell.programs import ProgramOutputTooLarge


class PerforceMissing(Misuse, code="REVIEW_PERFORCE_MISSING"):
    """Changes of Perforce are fetched with an allow-list and a p4 client; configure both."""


class ChangeFetcher:
    """Fetches changes of every source, within limits and, for Perforce, within the allow-list."""

    def __init__(
        self,
        allow_list: AllowList | None = None,
        perforce: Perforce | None = None,
        limits: FetchLimits | None = None,
        on_denied: SecurityLog = log_security_event,
    ) -> None:
        self._allow_list = allow_list
        self._perforce = perforce
        self._limits = limits or FetchLimits()
        self._on_denied = on_denied

    def fetch_perforce(self, number: str, paths: Sequence[str] = (), *, pending: bool = False) -> Change:
        """Fetch a changelist, or nothing. `paths` are what a user or an event has named with it."""
        if self._allow_list is None or self._perforce is None:
            raise PerforceMissing
        fetching = _Fetching(self._allow_list, self._perforce, ChangeBuilder(self._limits))
        try:
            return fetching.fetch(number, paths, pending=pending)
        except PathDenied as denied:
            self._on_denied(path_denied(f"p4 {number}", denied.path, denied.reason))
            raise

    def fetch_git(self, folder: Path, revisions: str) -> Change:
        """Fetch a range of commits of a repository on this machine, or one commit."""
        return fetch_git(folder, revisions, self._limits)

    def fetch_diff(self, text: str, name: str = "diff") -> Change:
        """Take a plain diff."""
        return fetch_diff(text, name, self._limits)


class _Fetching:
    """Fetches one changelist."""

    def __init__(self, allow_list: AllowList, perforce: Perforce, builder: ChangeBuilder) -> None:
        self._allow_list = allow_list
        self._perforce = perforce
        self._builder = builder

    def fetch(self, number: str, paths: Sequence[str], *, pending: bool) -> Change:
        for path in paths:
            self._allow_list.check_asked(path)
        change = self._perforce.describe(number, pending=pending)
        for file in change.files:
            self._allow_list.check(file.path)
        self._builder.expect(len(change.files))
        for file in change.files:
            self._add(change, file)
        return self._builder.build(f"p4 {number}", change.description)

    def _add(self, change: Changelist, file: DescribedFile) -> None:
        if not file.is_text:
            self._builder.leave_out(file.path, LeftOutReason.BINARY)
        elif is_generated(file.path):
            self._builder.leave_out(file.path, LeftOutReason.GENERATED)
        elif file.size > self._builder.limits.file_bytes:
            self._builder.leave_out(file.path, LeftOutReason.HUGE)
        elif file.action is PerforceAction.DELETE:
            self._builder.add(file.path, FileAction.DELETED, "")
        else:
            self._add_text(change, file)

    def _add_text(self, change: Changelist, file: DescribedFile) -> None:
        is_new = file.action is PerforceAction.ADD or (file.revision == 1 and not change.is_pending)
        ask = self._perforce.print_file if is_new else self._perforce.diff_file
        self._allow_list.check(file.path)
        try:
            answer = ask(change, file, self._builder.limits.file_bytes)
        except ProgramOutputTooLarge:
            self._builder.leave_out(file.path, LeftOutReason.HUGE)
            return
        if self._allow_list.check(answer.path) != self._allow_list.check(file.path):
            raise PathDenied(answer.path, "another file came back than was asked for")
        if is_new:
            self._builder.add(file.path, FileAction.ADDED, added_hunk(answer.text))
        else:
            self._builder.add(file.path, FileAction.MODIFIED, hunks_only(answer.text))
