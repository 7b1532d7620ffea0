"""Rolling a prompt out: which version a change gets, and whether the new one may stay. Pure: counts in, verdicts out.

A change always gets the same version, and one that got the new version keeps it when the share grows. The gates look at
the last 30 minutes, and only when the new version has been in use for so long.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from leasehold.errors import Misuse
from leasehold.pipelines.review.contract import CoercionApplied, FindingDropped, ParsedReview
from leasehold.pipelines.review.limits import GATE_RATIO, GATE_SECONDS
from leasehold.pipelines.review.prompts.template import load_template

DIGEST_BITS: Final = 64


class RolloutInvalid(Misuse, code="REVIEW_ROLLOUT_INVALID"):
    """A roll-out has a share from 0 to 1 and a floor that is not negative."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """What is configured: the version for most changes, a new one for a share of them, and the floor of the new one.

    `floor` is the least number of valid findings for each job.
    """

    stable: str
    canary: str | None = None
    share: float = 0.0
    floor: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1 or not self.floor >= 0:  # also refuses NaN
            raise RolloutInvalid(f"The share is {self.share}, the floor is {self.floor}.")
        for version in filter(None, (self.stable, self.canary)):
            load_template(version)


def choose_version(rollout: Rollout, change: str) -> str:
    """Return the prompt version for a change, by a digest of its name."""
    if rollout.canary is None:
        return rollout.stable
    digest = hashlib.sha256(f"{rollout.canary}\n{change}".encode("utf-8", "surrogatepass")).digest()
    place = Fraction(int.from_bytes(digest[: DIGEST_BITS // 8], "big"), 2**DIGEST_BITS)
    return rollout.canary if place < Fraction(rollout.share) else rollout.stable


@dataclass(frozen=True, slots=True)
class ResponseCounts:
    """What became of responses at a moment, `at` in seconds of UTC. A job with several parts has several responses."""

    at: float
    jobs: int = 0
    responses: int = 0
    rejected: int = 0
    valid_findings: int = 0
    dropped_findings: int = 0
    coercions: int = 0


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """Whether somebody is alarmed and whether the new version is withdrawn, with the rates that decided it."""

    alarm: bool
    rollback: bool
    rejected_share: float | None
    baseline_share: float | None
    findings_per_job: float | None


def count_response(parsed: ParsedReview, at: float, jobs: int = 1) -> ResponseCounts:
    """Count one response; `jobs` is 0 for each further part of a job."""
    kinds = [type(each) for each in parsed.diagnostics]
    valid = len(parsed.result.findings) if parsed.result is not None else 0
    dropped, coerced = kinds.count(FindingDropped), kinds.count(CoercionApplied)
    return ResponseCounts(at, jobs, 1, int(parsed.result is None), valid, dropped, coerced)


def judge(
    canary: Iterable[ResponseCounts], baseline: Iterable[ResponseCounts], now: float, floor: float
) -> GateVerdict:
    """Judge the new version by its last 30 minutes, compared with those of the stable version."""
    seen = [counts for counts in canary if counts.at <= now]
    rejected_share, findings_per_job = _rates(seen, now)
    baseline_share, _ = _rates(baseline, now)
    if not seen or min(counts.at for counts in seen) > now - GATE_SECONDS:
        return GateVerdict(False, False, rejected_share, baseline_share, findings_per_job)  # noqa: FBT003 — by place
    alarm = rejected_share is not None and rejected_share > GATE_RATIO * (baseline_share or 0)
    rollback = findings_per_job is not None and findings_per_job < floor
    return GateVerdict(alarm, rollback, rejected_share, baseline_share, findings_per_job)


def _rates(counts: Iterable[ResponseCounts], now: float) -> tuple[float | None, float | None]:
    """Return the share of rejected responses and the valid findings of each job; None where nothing was seen."""
    window = [one for one in counts if now - GATE_SECONDS < one.at <= now]
    responses, jobs = sum(one.responses for one in window), sum(one.jobs for one in window)
    rejected, findings = sum(one.rejected for one in window), sum(one.valid_findings for one in window)
    return (rejected / responses if responses else None), (findings / jobs if jobs else None)
