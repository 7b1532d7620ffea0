"""A change without its secrets: the only form in which anything of it goes into a prompt.

Paths and descriptions are redacted like everything else. Findings name paths as the model was given them, so they are
reconciled with the redacted paths.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from leasehold.pipelines.review.fetch.change import Change, FileAction, LeftOutReason
from leasehold.redact import Redacted, Redactor, redact_guarded


@dataclass(frozen=True, slots=True)
class RedactedFile:
    """One changed file, or some of its hunks."""

    path: Redacted
    action: FileAction
    hunks: Redacted


@dataclass(frozen=True, slots=True)
class RedactedChange:
    """A change that may be sent. `counts` are the places of each class that were hidden; values are nowhere."""

    name: Redacted
    description: Redacted
    files: tuple[RedactedFile, ...]
    left_out: tuple[tuple[Redacted, LeftOutReason], ...]
    counts: dict[str, int]

    @property
    def changed_files(self) -> tuple[str, ...]:
        return tuple(file.path.text for file in self.files)


def redact_change(change: Change, redactor: Redactor) -> RedactedChange:
    """Clean a change, or raise `RedactionFailed`: then nothing of it may be sent."""
    counts: Counter[str] = Counter()

    def clean(text: str) -> Redacted:
        found = redact_guarded(text, redactor)
        counts.update(found.counts)
        return found

    name, description = clean(change.name), clean(change.description)
    files = tuple(RedactedFile(clean(file.path), file.action, clean(file.hunks)) for file in change.files)
    left_out = tuple((clean(one.path), one.reason) for one in change.left_out)
    return RedactedChange(name, description, files, left_out, dict(counts))
