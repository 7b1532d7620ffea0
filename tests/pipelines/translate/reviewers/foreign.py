"""Reviewers as a third party may bring them: one that is right, and some that are not."""

from dataclasses import dataclass
from typing import Any

from leasehold.errors import Transient
from leasehold.pipelines.translate.reviewers.review import Review, ReviewFinding, Severity, Subject


class Polite:
    name = "polite"

    def review(self, subject: Subject) -> Review:
        """Objects to the first exclamation mark."""
        start = subject.candidate.find("!")
        if start < 0:
            return Review(self.name, {"style": 1.0}, ())
        return Review(self.name, {"style": 0.5}, (ReviewFinding("loud", Severity.MINOR, "Not so loud.", start, 1),))


@dataclass(frozen=True, slots=True)
class CannedReviewer:
    """Returns whatever it was made with."""

    review_returned: Any
    name: str = "canned"

    def review(self, subject: Subject) -> Review:
        answer: Review = self.review_returned
        return answer


class Failing:
    name = "failing"

    def review(self, subject: Subject) -> Review:
        raise ZeroDivisionError(subject.candidate)


class Waiting:
    name = "waiting"

    def review(self, subject: Subject) -> Review:
        raise Transient("busy", retry_after=3)


class Nameless:
    name = "Not A Name"

    def review(self, subject: Subject) -> Review:
        return Review(self.name, {}, ())


class Idle:
    name = "idle"


class Numbers(Polite):
    name = "numbers"


def broken() -> Polite:
    raise RuntimeError("no licence")
