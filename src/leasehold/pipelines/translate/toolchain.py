"""The pipeline as an app: a job for each paragraph with a stage for each pass, and rounds that people ask for.

A paragraph that is neither approved nor rejected after two passes waits in `rework_required`. What follows is a job of
its own, a round, whose machine begins there: a person approves or rejects it, or has it reworked once more.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Final

from leasehold import Job, KeyConflict, Leasehold, Permanent, Retry, Task
from leasehold.pipelines.shell.locate import HOME
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.documents.document import Document
from leasehold.pipelines.translate.folder import RunForeign
from leasehold.pipelines.translate.handler import ParagraphWork, TranslationTools, record_decision
from leasehold.pipelines.translate.limits import LEASE_SECONDS
from leasehold.pipelines.translate.paragraphs import (
    PARAGRAPH_INPUT,
    PASS_OUTPUT,
    ROUND_PAYLOAD,
    DecisionKind,
    ParagraphInput,
    PassOutput,
    content_hash,
    keys_of,
    plain,
)
from leasehold.pipelines.translate.reviewers.plugins import load_reviewers
from leasehold.pipelines.translate.reviewers.review import Reviewer
from leasehold.pipelines.translate.reviewers.standard import standard_reviewers
from leasehold.pipelines.translate.settings import RUN, RunSettings, settings_of_this_process
from leasehold.pipelines.translate.translators import make_translator
from leasehold.pipelines.translate.translators.answer_log import AnswerLog
from leasehold.pipelines.translate.translators.endpoints.interfaces import make_endpoint
from leasehold.pipelines.translate.translators.models import ModelReviewer
from leasehold.pipelines.translate.translators.translator import PairUnsupported, TranslationRequest

KIND: Final = "translation"
ROUND: Final = "translation_round"
CLAIM: Final = "translation_run"
QUEUE: Final = "translate"
REWORK_QUEUE: Final = "rework"
ANSWERS: Final = "answers.jsonl"
RETRY: Final = Retry(attempts=6, delay_initial=1, multiplier=3, delay_max=120, delay_ceiling=3_600)
PLAN_MAX: Final = 500


class Toolchain:
    """One run with its database: an app, and the tools of this process, made when they are first needed."""

    def __init__(self, settings: RunSettings) -> None:
        self.settings = settings
        self.prefix = f"{settings.identity.run_id}/"
        self._lock = threading.Lock()
        self._tools: TranslationTools | None = None
        if not settings.url:
            (settings.folder / HOME).mkdir(parents=True, exist_ok=True)
        self.app = Leasehold(settings.database)
        machine = self.app.machine(KIND, states.ARROWS, initial=states.INGESTED)
        self.kind = self.app.pipeline(KIND, machine=machine)
        # A run has queues of its own in a shared database, or workers of other runs would serve it.
        suffix = f"-{content_hash(settings.identity.run_id)[7:23]}" if settings.url else ""
        self.queue, self.rework_queue = f"{QUEUE}{suffix}", f"{REWORK_QUEUE}{suffix}"
        limits: dict[str, Any] = {"retry": RETRY, "lease": LEASE_SECONDS}
        first = self.kind.stage(queue=self.queue, **limits)(self.pass1)
        self.kind.stage(after=first, queue=self.rework_queue, **limits)(self.pass2)
        begun = self.app.machine(ROUND, states.REWORK_ARROWS, initial=states.REWORK_REQUIRED)
        self.round = self.app.job(name=ROUND, queue=self.rework_queue, machine=begun, **limits)(self.again)
        self.claim = self.app.job(name=CLAIM, queue=self.rework_queue)(_claimed)

    def claim_name(self, *, is_new: bool = False) -> None:
        """Reserve the run's name in a shared database; if another folder was first, forget a new run and raise."""
        name, nonce = self.settings.identity.run_id, self.settings.identity.nonce
        if self.settings.url:
            try:
                self.app.submit(self.claim, {"nonce": nonce}, key=name)
            except KeyConflict:
                if is_new:
                    (self.settings.folder / HOME / RUN).unlink()
                raise RunForeign(f"The database has a run {name} already, of another folder.") from None

    @property
    def tools(self) -> TranslationTools:
        with self._lock:
            if self._tools is None:
                self._tools = make_tools(self.settings)
            return self._tools

    def pass1(self, task: Task, **payload: Any) -> dict[str, Any]:
        return plain(ParagraphWork(task, PARAGRAPH_INPUT.convert(payload), self.tools).first_pass())

    def pass2(self, task: Task, **payload: Any) -> dict[str, Any]:
        """Rework a paragraph that its first review did not approve."""
        tries = PASS_OUTPUT.convert(task.inputs["pass1"]).tries
        return plain(ParagraphWork(task, PARAGRAPH_INPUT.convert(payload), self.tools, tries).second_pass())

    def again(self, task: Task, **payload: Any) -> dict[str, Any]:
        """Carry out a person's decision: approve, reject, or rework once more."""
        asked = ROUND_PAYLOAD.convert(payload)
        if asked.decision.kind is not DecisionKind.RETRY:
            return plain(record_decision(task, asked.decision, asked.last))
        work = ParagraphWork(task, asked.paragraph, self.tools, asked.last)
        made = work.another_round(asked.last[-1].attempt + self.settings.options.attempts_max - 1)
        return plain(PassOutput(made.tries[len(asked.last) :], made.state))

    def keys(self, document: Document) -> list[str]:
        return keys_of(self.settings.identity.run_id, self.settings.identity.document_id, document.paragraphs)

    def plan(self, paragraphs: Sequence[tuple[str, ParagraphInput]]) -> list[Job]:
        found: list[Job] = []
        for start in range(0, len(paragraphs), PLAN_MAX):
            batch = paragraphs[start : start + PLAN_MAX]
            payloads = [plain(paragraph) for _, paragraph in batch]
            found += self.app.submit_many(self.kind, payloads, keys=[key for key, _ in batch])
        return found

    def close(self) -> None:
        if self._tools is not None:
            self._tools.close()
        self.app.close()


def _claimed(nonce: str) -> dict[str, str]:
    """The name was reserved when the job was submitted; there is nothing to do."""
    return {"nonce": nonce}


def make_tools(settings: RunSettings) -> TranslationTools:
    options, identity = settings.options, settings.identity
    with ExitStack() as ending:
        translator = make_translator(options.translator, redact=options.redact)
        ending.callback(translator.close)
        translator.check(identity.source_language, identity.target_language)
        standard = standard_reviewers(_back(settings, ending))
        reviewers: list[Reviewer] = [*standard, *load_reviewers(taken=standard)]
        if options.reviewer:
            reviewers.append(ModelReviewer(make_endpoint(options.reviewer), redact=options.redact))
        return TranslationTools(
            translator=translator,
            reviewers=tuple(reviewers),
            answers=AnswerLog(settings.folder / HOME / ANSWERS),
            options=options,
            close=ending.pop_all().close,
        )


def _back(settings: RunSettings, ending: ExitStack) -> Callable[[str], str] | None:
    """Return a function that translates a candidate back, if a translator supports that pair."""
    pair = settings.identity.target_language, settings.identity.source_language
    if not settings.options.back_translator:
        return None
    translator = make_translator(settings.options.back_translator)
    try:
        translator.check(*pair)
    except PairUnsupported:
        return None
    ending.callback(translator.close)

    def back(text: str) -> str:
        try:
            return translator.translate(TranslationRequest(text, *pair)).text
        except Permanent:  # that a text cannot be translated back is no sign of its quality
            return ""

    return back


def app_of_this_process() -> Leasehold:
    return Toolchain(settings_of_this_process()).app
