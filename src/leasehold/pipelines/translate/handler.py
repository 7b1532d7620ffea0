"""The work on one paragraph: translate, review, assess; rework in a second pass until it is good or given up.

Every answer of a translator and every review is an effect. After a crash the handlers start from the top and find what
was done; a translator is asked again only if it was cut off before it had answered.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from leasehold import Task
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.documents.protecting import Protected, protect, respace, restore
from leasehold.pipelines.translate.gate import Assessment, Outcome, Priority, ReworkReason, assess
from leasehold.pipelines.translate.paragraphs import Decision, ParagraphInput, PassOutput, Try, best_of, now, plain
from leasehold.pipelines.translate.reviewers.checks.kept import review_markup
from leasehold.pipelines.translate.reviewers.review import Review, Reviewer, ReviewFinding, Severity, Subject, messages
from leasehold.pipelines.translate.settings import TranslateOptions
from leasehold.pipelines.translate.translators.answer_log import AnswerLog
from leasehold.pipelines.translate.translators.translator import PlaceholdersLost, TranslationRequest, Translator
from leasehold.shapes import Shape

FINDINGS_MAX: Final = 100  # of one review; the record is bounded
PLACEHOLDER_TRIES: Final = 3  # then an answer without its placeholders is a candidate as any
FINDINGS_SENT_MAX: Final = 20  # to a translator, about the candidate before
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
    options: TranslateOptions
    close: Callable[[], None] = lambda: None


class TranslateResult(Struct, frozen=True):
    """The result of the effect TRANSLATE: a translator's answer and when it came."""

    text: str
    translator: str
    at: str
    tokens_in: int | None = None
    tokens_out: int | None = None


class ReviewedCandidate(Struct, frozen=True):
    reviews: tuple[Review, ...]
    assessment: Assessment
    at: str


_translate_result: Final = Shape[TranslateResult](TranslateResult)
_reviewed_candidate: Final = Shape[ReviewedCandidate](ReviewedCandidate)


class ParagraphWork:
    def __init__(
        self, task: Task, paragraph: ParagraphInput, tools: TranslationTools, tries: Sequence[Try] = ()
    ) -> None:
        self._task = task
        self._paragraph = paragraph
        self._tools = tools
        self._protected: Protected = protect(paragraph.source, paragraph.format)
        self.tries = list(tries)

    def first_pass(self) -> PassOutput:
        self._try(1, PASS1)
        return self._output()

    def second_pass(self, attempts_max: int | None = None) -> PassOutput:
        """Rework until a candidate is good, no attempt is left, or a person must decide; perhaps nothing is to do."""
        most = attempts_max or self._tools.options.attempts_max
        while self._needs_rework() and self.tries[-1].attempt < most:
            self._try(self.tries[-1].attempt + 1, PASS2, most)
        return self._output()

    def another_round(self, attempts_max: int) -> PassOutput:
        """Try once more because a person asked, also where the last review left it to a person; then as above."""
        last = self.tries[-1]
        if last.state == states.REWORK_REQUIRED and last.attempt < attempts_max:
            self._try(last.attempt + 1, PASS2, attempts_max)
        return self.second_pass(attempts_max)

    def _needs_rework(self) -> bool:
        last = self.tries[-1]
        is_for_a_person = ReworkReason.HUMAN_FLAG in last.assessment.reasons and not self._tools.options.is_unattended
        return last.state == states.REWORK_REQUIRED and not is_for_a_person

    def _output(self) -> PassOutput:
        return PassOutput(tuple(self.tries), self.tries[-1].state)

    def _try(self, attempt: int, number: int, attempts_max: int | None = None) -> None:
        translated, reviewed = STATES[number]
        answer = self._translate(attempt)
        candidate = restore(respace(answer.text, self._protected), self._protected.kept)
        self._task.advance(translated)
        review = self._review(candidate, attempt, attempts_max or self._tools.options.attempts_max)
        self._task.advance(reviewed)
        state = self._state_after(review.assessment, number)
        self._task.advance(state)
        self.tries.append(
            Try(
                attempt=attempt,
                number=number,
                candidate=candidate,
                actor=answer.translator,
                translated_at=answer.at,
                reviews=review.reviews,
                assessment=review.assessment,
                reviewed_at=review.at,
                state=state,
                tokens_in=answer.tokens_in,
                tokens_out=answer.tokens_out,
            )
        )

    def _state_after(self, assessment: Assessment, number: int) -> str:
        if assessment.outcome in (Outcome.ACCEPT, Outcome.ACCEPT_WITH_NOTES):
            return states.APPROVED
        is_last = assessment.outcome is Outcome.REJECT
        is_undecided = self._tools.options.is_unattended and ReworkReason.HUMAN_FLAG in assessment.reasons
        return states.REJECTED if number == PASS2 and (is_last or is_undecided) else states.REWORK_REQUIRED

    def _translate(self, attempt: int) -> TranslateResult:
        """Ask the translator once; an attempt after a crash finds its answer in the log."""
        answers = self._tools.answers

        def act(key: str) -> dict[str, Any]:
            return answers.keep(key, lambda: self._ask(attempt))

        return _translate_result.convert(self._task.effect("TRANSLATE", act, lookup=answers.find, attempt=attempt))

    def _ask(self, attempt: int) -> dict[str, Any]:
        try:
            made = self._tools.translator.translate(self._request(attempt))
        except PlaceholdersLost as lost:
            if self._task.attempt < PLACEHOLDER_TRIES:
                raise
            made = lost.translation  # reviewers report what is missing, and a person can decide
        return plain(TranslateResult(made.text, made.translator, now(), made.tokens_in, made.tokens_out))

    def _request(self, attempt: int) -> TranslationRequest:
        paragraph, options = self._paragraph, self._tools.options
        last = self.tries[-1] if self.tries else None
        return TranslationRequest(
            text=self._protected.text,
            source_language=paragraph.source_language,
            target_language=paragraph.target_language,
            before=paragraph.before,
            after=paragraph.after,
            glossary=options.glossary,
            style=options.style,
            previous=last.candidate if last else "",
            findings=tuple(messages(last.assessment.findings, serious=True)[:FINDINGS_SENT_MAX]) if last else (),
            attempt=attempt,
        )

    def _review(self, candidate: str, attempt: int, attempts_max: int) -> ReviewedCandidate:
        """Have the candidate reviewed. A review changes nothing outside, so one that was cut off is made again."""

        def act() -> dict[str, Any]:
            paragraph, options = self._paragraph, self._tools.options
            languages = paragraph.source_language, paragraph.target_language
            subject = Subject(paragraph.source, candidate, *languages, self._protected.kept, options.glossary)
            markup = review_markup(paragraph.source, candidate, paragraph.format)
            reviews = (markup, *(_bounded(reviewer.review(subject)) for reviewer in self._tools.reviewers))
            assessment = assess(
                reviews,
                options.thresholds,
                earlier=[tried.assessment for tried in self.tries],
                attempt=attempt,
                attempts_max=attempts_max,
                repeated=any(tried.candidate == candidate for tried in self.tries),
            )
            return plain(ReviewedCandidate(reviews, assessment, now()))

        return _reviewed_candidate.convert(self._task.effect("REVIEW", act, idempotent=True, attempt=attempt))


def record_decision(task: Task, decision: Decision, tries: Sequence[Try]) -> PassOutput:
    best, is_approved = best_of(tries), decision.state == states.APPROVED
    at: str = task.effect("DECIDE", now, idempotent=True)
    for step in (states.TRANSLATED_PASS2, states.REVIEWED_PASS2, decision.state):
        task.advance(step)
    outcome = Outcome.ACCEPT_WITH_NOTES if is_approved else Outcome.REJECT
    reasons = () if is_approved else (ReworkReason.HUMAN_FLAG,)
    scores = {} if decision.text else best.assessment.scores  # nobody has scored what a person wrote
    made = Try(
        attempt=tries[-1].attempt + 1,
        number=PASS2,
        candidate=decision.text or best.candidate,
        actor=decision.by,
        translated_at=at,
        reviews=(),
        assessment=Assessment(scores, outcome, reasons, Priority.LOW, ()),
        reviewed_at=at,
        state=decision.state,
        note=decision.note,
    )
    return PassOutput((made,), decision.state)


def _bounded(review: Review) -> Review:
    """Return a review whose findings fit into a record; a last one counts those that are left out."""
    if len(review.findings) <= FINDINGS_MAX:
        return review
    left = len(review.findings) - FINDINGS_MAX
    more = ReviewFinding("more_findings", Severity.INFO, f"{left:,} more findings are not listed")
    return Review(review.reviewer, review.scores, (*review.findings[:FINDINGS_MAX], more))
