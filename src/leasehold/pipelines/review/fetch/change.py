"""A change as every source gives it: changed files with their hunks, and what was left out, each with its reason."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from leasehold.errors import Misuse
from leasehold.pipelines.review.limits import CHANGE_BYTES_MAX, FILE_BYTES_MAX, FILES_MAX

GENERATED_PATH: Final = re.compile(
    r"(^|/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|Cargo\.lock|poetry\.lock|uv\.lock"
    r"|Pipfile\.lock|composer\.lock|Gemfile\.lock|go\.sum|flake\.lock)$"
    r"|\.(min\.js|min\.css|map|pb\.go|pb\.cc|pb\.h)$|_pb2(_grpc)?\.py$|(^|/)node_modules/"
)
# The line by which Go, protoc and many other generators mark what they write, at the top of a file.
GENERATED_MARK: Final = re.compile(r"^[+ ]\W*Code generated .* DO NOT EDIT\.?\W*$", re.MULTILINE)
FIRST_HUNK: Final = re.compile(r"@@ -\d+(?:,\d+)? \+[01](?:,\d+)? @@")
MARK_WITHIN: Final = 1_000  # characters of the first hunk


class ChangeTooLarge(Misuse, code="REVIEW_CHANGE_TOO_LARGE"):
    """The change is larger than a review may be; review its parts."""


class RevisionInvalid(Misuse, code="REVIEW_REVISION_INVALID"):
    """A change is named by its number, or by git revisions such as HEAD, main~2..main or main...topic."""


class FileAction(StrEnum):
    """What the change does with a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


class LeftOutReason(StrEnum):
    """Why a changed file is not reviewed."""

    BINARY = "binary"
    HUGE = "huge"
    GENERATED = "generated"
    SUBMODULE = "submodule"
    UNREADABLE_PATH = "unreadable_path"
    CHANGE_LIMIT = "change_limit"


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One changed file; its hunks are those of a unified diff, without the lines that name the file."""

    path: str
    action: FileAction
    hunks: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A changed file that is named and not reviewed."""

    path: str
    reason: LeftOutReason


@dataclass(frozen=True, slots=True)
class Change:
    """What is reviewed. Nothing in it is redacted yet."""

    name: str
    description: str = field(repr=False)
    files: tuple[ChangedFile, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def changed_files(self) -> tuple[str, ...]:
        return tuple(file.path for file in self.files)


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """How much of a change is fetched."""

    files: int = FILES_MAX
    file_bytes: int = FILE_BYTES_MAX
    change_bytes: int = CHANGE_BYTES_MAX


class ChangeBuilder:
    """Collects the files of one change within its limits."""

    def __init__(self, limits: FetchLimits) -> None:
        self.limits = limits
        self._bytes = 0
        self._files: list[ChangedFile] = []
        self._left_out: list[LeftOut] = []

    def expect(self, count: int) -> None:
        """Refuse a change of too many files before any of them is fetched."""
        if count > self.limits.files:
            raise ChangeTooLarge(f"It has {count:,} files; the limit is {self.limits.files:,}.")

    def leave_out(self, path: str, reason: LeftOutReason) -> None:
        self._left_out.append(LeftOut(path, reason))

    def add(self, path: str, action: FileAction, hunks: str) -> None:
        """Add a file, or name it among those left out."""
        size = len(hunks.encode("utf-8", "replace"))
        if is_generated(path, hunks):
            self.leave_out(path, LeftOutReason.GENERATED)
        elif size > self.limits.file_bytes:
            self.leave_out(path, LeftOutReason.HUGE)
        elif self._bytes + size > self.limits.change_bytes:
            self.leave_out(path, LeftOutReason.CHANGE_LIMIT)
        else:
            self._bytes += size
            self._files.append(ChangedFile(path, action, hunks))

    def build(self, name: str, description: str = "") -> Change:
        return Change(name, description, tuple(self._files), tuple(self._left_out))


def is_generated(path: str, hunks: str = "") -> bool:
    """Return whether a file was written by a program: by its name, or by the mark of generators at its top."""
    if GENERATED_PATH.search(path):
        return True
    return bool(FIRST_HUNK.match(hunks) and GENERATED_MARK.search(hunks, 0, MARK_WITHIN))
