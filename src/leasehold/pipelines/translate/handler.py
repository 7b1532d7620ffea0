"""What is done to one paragraph: translated, reviewed, judged; in a second pass again, until it is good or given up.

Every answer of a translator and every review is an effect. The handlers start from the top after a crash and find what
was done; a translator is asked again only if it was cut off before it had answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import to_builtins

from leasehold import Task
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.answer_log import AnswerLog
from leasehold.pipelines.translate.documents import Protected, protect, respace, restore
from leasehold.pipelines.translate.gate import Assessment, Outcome, ReworkReason, Thresholds, assess
from leasehold.pipelines.translate.paragraphs import ParagraphInput, Try
from leasehold.pipelines.translate.reviewers.checks.markup import review_markup
from leasehold.pipelines.translate.reviewers.review import Review, Reviewer, ReviewFinding, Severity, Subject
from leasehold.pipelines.translate.translators import MarksLost, TranslationRequest, Translator
from leasehold.shapes import Shape

ASSESSMENT: Final = Shape[Assessment](Assessment)
REVIEWS: Final = Shape[tuple[Review, ...]](tuple[Review, ...])
FINDINGS_MAX: Final = 100  # of one review; the record is bounded
MARKS_TRIES: Final = 3  # then an answer without its marks is a candidate as any
TOLD_MAX: Final = 20  # findings that a translator is told of
PASS1: Final = 1
PASS2: Final = 2
STATES: Final = {
    PASS1: (states.TRANSLATED_PASS1, states.REVIEWED_PASS1),
    PASS2: (states.TRANSLATED_PASS2, states.REVIEWED_PASS2),
}


@dataclass(frozen=True, slots=True)
class TranslationTools:
    """What a worker process translates and reviews with."""

    translator: Translator
    reviewers: tuple[Reviewer, ...]
    answers: AnswerLog
    thresholds: Thresholds
    glossary: Mapping[str, str]
    style: str
    attempts_max: int
    is_unattended: bool = False  # nobody will look: what would go to a person is rejected
    close: Callable[[], None] = lambda: None


class ParagraphWork:
    """One paragraph in the hands of one task."""

    def __init__(self, task: Task, wanted: ParagraphInput, tools: TranslationTools, tries: Sequence[Try] = ()) -> None:
        self._task = task
        self._wanted = wanted
        self._tools = tools
        self._protected: Protected = protect(wanted.source, wanted.format)
        self.tries = list(tries)

    def first_pass(self) -> dict[str, Any]:
        """Translate and review for the first time."""
        self._try(1, PASS1)
        return self.told()

    def second_pass(self, attempts_max: int | None = None) -> dict[str, Any]:
        """Go round until a candidate is good, none will be, or a person must look. Nothing to do: nothing is done."""
        most = attempts_max or self._tools.attempts_max
        while self._goes_on() and self.tries[-1].attempt < most:
            self._try(self.tries[-1].attempt + 1, PASS2, most)
        return self.told()

    def another_round(self, attempts_max: int) -> dict[str, Any]:
        """Try once more because a person asked, whoever the last review sent it to; then go on as in a second pass."""
        last = self.tries[-1]
        if last.state == states.REWORK_REQUIRED and last.attempt < attempts_max:
            self._try(last.attempt + 1, PASS2, attempts_max)
        return self.second_pass(attempts_max)

    def _goes_on(self) -> bool:
        last = self.tries[-1]
        if last.state != states.REWORK_REQUIRED:
            return False
        return self._tools.is_unattended or ReworkReason.HUMAN_FLAG not in last.assessment.reasons

    def told(self) -> dict[str, Any]:
        """Return what a stage gives back."""
        return {"tries": [one.plain() for one in self.tries], "state": self.tries[-1].state}

    def _try(self, attempt: int, number: int, attempts_max: int | None = None) -> None:
        translated, reviewed = STATES[number]
        answer = self._translate(attempt)
        candidate = restore(respace(answer["text"], self._protected), self._protected.kept)
        self._task.advance(translated)
        found = self._review(candidate, attempt, attempts_max or self._tools.attempts_max)
        self._task.advance(reviewed)
        assessment = ASSESSMENT.convert(found["judgement"])
        state = self._state_after(assessment, number)
        self._task.advance(state)
        self.tries.append(
            Try(
                attempt=attempt,
                number=number,
                candidate=candidate,
                actor=answer["translator"],
                translated_at=answer["at"],
                reviews=REVIEWS.convert(found["reviews"]),
                assessment=assessment,
                reviewed_at=found["at"],
                state=state,
                tokens_in=answer["tokens_in"],
                tokens_out=answer["tokens_out"],
            )
        )

    def _state_after(self, assessment: Assessment, number: int) -> str:
        if assessment.outcome in (Outcome.ACCEPT, Outcome.ACCEPT_WITH_NOTES):
            return states.APPROVED
        is_last = assessment.outcome is Outcome.REJECT
        is_undecided = self._tools.is_unattended and ReworkReason.HUMAN_FLAG in assessment.reasons
        return states.REJECTED if number == PASS2 and (is_last or is_undecided) else states.REWORK_REQUIRED

    def _translate(self, attempt: int) -> dict[str, Any]:
        """Ask the translator once; what it answered is found again by whoever comes after a crash."""
        answers = self._tools.answers

        def act(key: str) -> dict[str, Any]:
            return answers.keep(key, lambda: self._ask(attempt))

        found: dict[str, Any] = self._task.effect("TRANSLATE", act, lookup=answers.find, attempt=attempt)
        return found

    def _ask(self, attempt: int) -> dict[str, Any]:
        try:
            made = self._tools.translator.translate(self._request(attempt))
        except MarksLost as lost:
            if self._task.attempt < MARKS_TRIES:
                raise
            made = lost.translation  # reviewers will say what is missing, and a person can decide
        return to_builtins(made) | {"at": now()}  # type: ignore[no-any-return]

    def _request(self, attempt: int) -> TranslationRequest:
        wanted, tools = self._wanted, self._tools
        last = self.tries[-1] if self.tries else None
        return TranslationRequest(
            text=self._protected.text,
            source_language=wanted.source_language,
            target_language=wanted.target_language,
            before=wanted.before,
            after=wanted.after,
            glossary=tools.glossary,
            style=tools.style,
            previous=last.candidate if last else "",
            findings=_told(last.assessment.findings) if last else (),
            attempt=attempt,
        )

    def _review(self, candidate: str, attempt: int, attempts_max: int) -> dict[str, Any]:
        """Have the candidate reviewed. A review changes nothing outside, so one that was cut off is made again."""

        def act() -> dict[str, Any]:
            subject = self._subject(candidate)
            markup = review_markup(subject.source, candidate, self._wanted.format)
            reviews = (markup, *(_bounded(reviewer.review(subject)) for reviewer in self._tools.reviewers))
            assessment = assess(
                reviews,
                self._tools.thresholds,
                earlier=[one.assessment for one in self.tries],
                attempt=attempt,
                attempts_max=attempts_max,
                repeated=any(one.candidate == candidate for one in self.tries),
            )
            return {"reviews": to_builtins(reviews), "judgement": to_builtins(assessment), "at": now()}

        found: dict[str, Any] = self._task.effect("REVIEW", act, idempotent=True, attempt=attempt)
        return found

    def _subject(self, candidate: str) -> Subject:
        wanted = self._wanted
        return Subject(
            source=wanted.source,
            candidate=candidate,
            source_language=wanted.source_language,
            target_language=wanted.target_language,
            kept=self._protected.kept,
            glossary=self._tools.glossary,
        )


def _told(findings: Sequence[ReviewFinding]) -> tuple[str, ...]:
    """Say what was found wrong, the worst first."""
    order = list(reversed(Severity))
    worst = sorted(findings, key=lambda one: order.index(one.severity))
    return tuple(one.message or one.code for one in worst if one.severity is not Severity.INFO)[:TOLD_MAX]


def _bounded(review: Review) -> Review:
    """Return a review with so many findings that a record can hold it, and one that tells how many are left out."""
    if len(review.findings) <= FINDINGS_MAX:
        return review
    left = len(review.findings) - FINDINGS_MAX
    more = ReviewFinding("more_findings", Severity.INFO, f"{left:,} more findings are not listed")
    return Review(review.reviewer, review.scores, (*review.findings[:FINDINGS_MAX], more))


def now() -> str:
    """Return the time as rows have it."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
