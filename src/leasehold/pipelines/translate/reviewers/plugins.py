"""Reviewers that others bring, and the check that none of them lies.

A package names a factory in the entry-point group `leasehold.translate.reviewers`; each call of it makes one reviewer.
What a plug-in returns is checked before it counts: a score outside of [0, 1] or a span outside of the candidate would
become a row that breaks its contract, far from the one who made it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from leasehold.errors import Cancelled, Misuse, Overtaken, Released, Transient, Unavailable
from leasehold.pipelines.translate.reviewers.review import (
    SCORES,
    Review,
    Reviewer,
    ReviewFinding,
    Severity,
    Subject,
    quoted,
)

GROUP: Final = "leasehold.translate.reviewers"
FINDINGS_OF_A_PLUGIN_MAX: Final = 1_000
MESSAGE_LENGTH_MAX: Final = 2_000
_name: Final = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")
_code: Final = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")


class ReviewerRefused(Misuse, code="REVIEWER_REFUSED"):
    """A plug-in reviewer does not keep its contract; repair it, or uninstall the package that brings it."""


@dataclass(frozen=True, slots=True)
class CheckedReviewer:
    """A reviewer whose every review is checked; `origin` names it in errors."""

    name: str
    origin: str
    inner: Reviewer

    def review(self, subject: Subject) -> Review:
        try:
            review = self.inner.review(subject)
        except (Cancelled, Overtaken, Released, Transient, Unavailable):
            raise  # not a fault of the reviewer: of the world, or requested by the caller
        except Exception as error:
            raise ReviewerRefused(f"{self.origin}: its review raised {error!r}.") from error
        if faults := faults_of(review, subject, self.name):
            raise ReviewerRefused(f"{self.origin}: {'; '.join(faults[:5])}.")
        return review


def load_reviewers(
    found: Iterable[EntryPoint] | None = None, taken: Iterable[Reviewer] = ()
) -> tuple[CheckedReviewer, ...]:
    """Return the reviewers that installed packages bring, by name; `taken` are those whose names are in use."""
    names = {reviewer.name for reviewer in taken}
    reviewers = []
    entries = entry_points(group=GROUP) if found is None else found
    for entry in sorted(entries, key=lambda each: (each.name, each.value)):
        reviewer = _loaded(entry)
        if reviewer.name in names:
            raise ReviewerRefused(f"{reviewer.origin}: there is a reviewer called '{reviewer.name}' already.")
        names.add(reviewer.name)
        reviewers.append(reviewer)
    return tuple(reviewers)


def _loaded(entry: EntryPoint) -> CheckedReviewer:
    origin = f"'{entry.name}' ({entry.value})"
    try:
        inner = entry.load()()
    except Exception as error:
        raise ReviewerRefused(f"{origin}: it could not be made: {error!r}.") from error
    name = getattr(inner, "name", None)
    if not isinstance(name, str) or not _name.match(name):
        raise ReviewerRefused(f"{origin}: its name is {name!r}, not like ^[a-z][a-z0-9_]*$ of at most 63 letters.")
    if not callable(getattr(inner, "review", None)):
        raise ReviewerRefused(f"{origin}: it has no method 'review'.")
    return CheckedReviewer(name, origin, inner)


def faults_of(review: object, subject: Subject, name: str) -> list[str]:
    """Return what is wrong with a review, nothing if it may count."""
    if not isinstance(review, Review):
        return [f"it answered {type(review).__name__}, not a Review"]
    claimed: tuple[Any, Any] = (review.scores, review.findings)
    scores, findings = claimed
    if not isinstance(scores, Mapping) or not isinstance(findings, tuple):
        return ["its scores are a mapping and its findings a tuple"]
    faults = [] if review.reviewer == name else [f"it signs as {quoted(str(review.reviewer))}, not as '{name}'"]
    faults += [f"score {key!r} = {value!r} is not known" for key, value in scores.items() if key not in SCORES]
    faults += [f"score {key} = {value!r} is outside of [0, 1]" for key, value in scores.items() if _is_no_score(value)]
    if len(findings) > FINDINGS_OF_A_PLUGIN_MAX:
        return [*faults, f"it has {len(findings):,} findings; the limit is {FINDINGS_OF_A_PLUGIN_MAX:,}"]
    for finding in findings:
        faults += _finding_faults(finding, len(subject.candidate))
    return faults


def _is_no_score(value: object) -> bool:
    # Written so that NaN is none.
    return isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1


def _finding_faults(finding: object, length: int) -> list[str]:
    if not isinstance(finding, ReviewFinding):
        return [f"a finding is a {type(finding).__name__}"]
    claimed: tuple[Any, ...] = (finding.code, finding.severity, finding.message)
    code, severity, message = claimed
    faults = []
    if not isinstance(code, str) or not _code.match(code):
        faults.append(f"code {code!r} is not like ^[a-z][a-z0-9_]*$ of at most 64 letters")
    if not isinstance(severity, Severity):
        faults.append(f"severity {severity!r} is none of {', '.join(Severity)}")
    if not isinstance(message, str) or len(message) > MESSAGE_LENGTH_MAX:
        faults.append(f"a message is a text of at most {MESSAGE_LENGTH_MAX:,} characters")
    if not _lies_inside(finding.start, finding.length, length):
        span = f"start {finding.start!r}, length {finding.length!r}"
        faults.append(f"{span} is not inside of a candidate of {length:,} code points")
    return faults


def _lies_inside(start: Any, length: Any, whole: int) -> bool:
    if start is None and length is None:
        return True
    return type(start) is int and type(length) is int and start >= 0 and length >= 0 and start + length <= whole
