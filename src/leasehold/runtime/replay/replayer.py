"""A record, run again: the handlers with their recorded payloads and inputs, every effect answered from the record.

Nothing outside is touched: no database, no act, no look-up. What the handlers return is compared with what they
returned then, and the journal's clock and jitter with what the policies draw. The report holds nothing of this run but
what came of it, so any number of runs on any machines give the same bytes.
"""

import asyncio
import contextlib
import hashlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct

from leasehold import canonical, clock
from leasehold.errors import RecordDamaged
from leasehold.insight.record import Recording, read_lines
from leasehold.insight.verify.effects import EffectCheck
from leasehold.insight.verify.verify import check_record
from leasehold.model import lease as endings
from leasehold.model.delivery import OutgoingMessage, mark_of, marks_in
from leasehold.model.failure.failure import Failure, classify
from leasehold.model.failure.verdict import pause
from leasehold.model.journal.event import Name
from leasehold.model.journal.record import (
    DeliveryLine,
    EffectLine,
    EventLine,
    Opening,
    OutcomeLine,
    TaskRecord,
    text_of,
)
from leasehold.model.lease import Lease, Settlement
from leasehold.model.names import route as route_of
from leasehold.model.retry import RetryAt, decide, jitter_of, seed_of
from leasehold.model.status import Status
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.commit.requests import run_blocking
from leasehold.runtime.handlers import Handler
from leasehold.runtime.replay.ledger import Answers, Diverged, Divergence
from leasehold.runtime.replay.tree import TreeAnswers, accepted
from leasehold.shapes import from_fields

Handlers = Mapping[str, Handler]


class Replay(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a replay found. `journal_only`: tasks that no handler ended, so only their journal was checked."""

    equal: bool
    tasks: int = 0
    journal_only: int = 0
    effects: int = 0
    digest: str = ""
    divergence: Divergence | None = None


@dataclass(slots=True)
class LoadedRecord:
    """A whole record, in memory."""

    opening: Opening
    records: list[TaskRecord] = field(default_factory=list)
    effects: dict[str, EffectLine] = field(default_factory=dict)
    tree: dict[str, EventLine] = field(default_factory=dict)  # spends and linked jobs, by key
    _stages: dict[str | None, list[TaskRecord]] = field(default_factory=dict)

    def add(self, record: TaskRecord) -> None:
        self.records.append(record)
        self.effects |= {effect.key: effect for effect in record.effects}
        self.tree |= accepted(record)
        self._stages.setdefault(record.task.stage, []).append(record)

    def inputs(self, record: TaskRecord) -> dict[str, Any]:
        """Return the outputs of the stages a task waited for, as its handler got them; made new each time."""
        after = record.task.after
        if record.task.segment is not None:
            after = self._stages[record.task.stage][0].task.after
        return {stage: self._output(stage) for stage in after}

    def _output(self, stage: str) -> Any:
        group, *segments = self._stages[stage]
        if group.task.each is None:
            return _value(current(group))
        return [_value(end) for one in segments if (end := current(one)) is not None]


def replay(path: Path, handlers: Handlers) -> Replay:
    """Run a record again; `RecordDamaged` if it is not whole."""
    book = load(read_lines(path))
    run = _Run(book, handlers)
    divergence: Divergence | None = None
    try:
        for record in book.records:
            run.record(record)
    except Diverged as found:
        divergence = found.divergence
    return Replay(
        equal=divergence is None,
        tasks=run.tasks,
        journal_only=run.journal_only,
        effects=run.effects,
        digest=run.digest.hexdigest() if divergence is None else "",
        divergence=divergence,
    )


def load(lines: Iterable[bytes]) -> LoadedRecord:
    """Read a record whole; `RecordDamaged` if its hashes, its order, or its events and outcomes do not fit."""
    recording = Recording(lines)
    book = LoadedRecord(recording.opening)
    effects = EffectCheck(recording.opening.kind, recording.opening.key)
    for record in recording.records():
        if problem := check_record(record, effects):
            raise RecordDamaged(f"Before line {recording.line}: {problem}.")
        book.add(record)
    return book


def current(record: TaskRecord) -> OutcomeLine | None:
    """Return how a task ended, unless it has not or was revived."""
    return record.outcomes[-1] if record.outcomes and not record.outcomes[-1].past else None


def _value(outcome: OutcomeLine | None) -> Any:
    if outcome is None or outcome.status != Status.DONE or outcome.output is UNSET:
        return None
    return canonical.decode(text_of(outcome.output) or "null")


class _Run:
    """One replay under way."""

    def __init__(self, book: LoadedRecord, handlers: Handlers) -> None:
        self._book = book
        self._handlers = handlers
        self.tasks = 0
        self.journal_only = 0
        self.effects = 0
        self.digest = hashlib.sha256()

    def record(self, record: TaskRecord) -> None:
        """Check a task's jitter, and run its last attempt again if a handler ended it."""
        self._check_jitter(record)
        ending, outcome = record.events[-1], current(record)
        is_handlers = ending.name in (Name.DONE, Name.FAILED) and not _was_timed_out(ending)
        if outcome is None or ending.fence is None or not is_handlers:
            self.journal_only += 1
            return
        handler = self._handler(record)
        home = getattr(handler.function, "__module__", "")
        tree = TreeAnswers(record, ending, self._book.tree)
        answers = Answers(record, ending, self._book.effects, tree, lambda: self._book.inputs(record), home)
        handler = replace(handler, rules=(*handler.rules, answers.rule), arounds=())
        settlement = _attempt(Attempt(self._lease(record, ending), handler, 0), answers)
        answers.judge(settlement)
        _compare(record, outcome, settlement, answers)
        if settlement.status == Status.DONE:
            _compare_deliveries(record, settlement)
        self.tasks += 1
        self.effects += answers.asked
        self.digest.update(canonical.encode(_digest_line(record, settlement), limit=sys.maxsize).encode() + b"\n")

    def _handler(self, record: TaskRecord) -> Handler:
        route = route_of(self._book.opening.kind, record.task.stage)
        if route not in self._handlers:
            raise Diverged(record.task, "handler", route, "missing")
        return self._handlers[route]

    def _lease(self, record: TaskRecord, ending: EventLine) -> Lease:
        task, opening = record.task, self._book.opening
        claims = (one.at for one in reversed(record.events) if one.name == Name.CLAIMED and one.fence == ending.fence)
        return from_fields(
            Lease,
            task,
            task_id=task.task,
            fence=ending.fence or 0,
            attempt=ending.attempt or 0,
            epoch=record.outcomes[-1].epoch,
            position=0,
            job_id=0,
            kind=opening.kind,
            key=opening.key,
            payload=text_of(opening.payload) or "{}",
            item=text_of(task.item),
            started_at=next(claims, ending.at),
        )

    def _check_jitter(self, record: TaskRecord) -> None:
        epoch = 1
        for event in record.events:
            epoch += event.name == Name.REVIVED
            if event.name == Name.RETRIED and isinstance(event.detail, dict) and "seed" in event.detail:
                self._check_delay(record, event.detail, epoch, event.attempt or 0)

    def _check_delay(self, record: TaskRecord, detail: dict[str, Any], epoch: int, attempt: int) -> None:
        handler = self._handler(record)
        seed = seed_of(self._book.opening.key, handler.route, record.task.segment, epoch, attempt)
        if detail["seed"] != seed:
            raise Diverged(record.task, "seed of a retry", detail["seed"], seed)
        asked, server_asked = pause(detail.get("retry_after")), pause(detail.get("server_retry_after"))
        failure = Failure("REPLAYED", "tried again", retryable=True, retry_after=asked, server_retry_after=server_asked)
        decision = decide(failure, attempt, attempt + 1, handler.retry, jitter_of(seed))
        assert isinstance(decision, RetryAt)
        drawn = clock.microseconds(decision.delay)
        if detail.get("delay_us") != drawn:
            raise Diverged(record.task, "delay of a retry, in microseconds", str(detail.get("delay_us")), str(drawn))


def _was_timed_out(ending: EventLine) -> bool:
    """Whether its worker ended the attempt: the handler would run as long again."""
    context = ending.detail.get("context") if isinstance(ending.detail, dict) else None
    return isinstance(context, dict) and context.get("ended_by") == "timeout"


def _attempt(attempt: Attempt, answers: Answers) -> Settlement:
    async def call() -> object:
        return await attempt.call(lambda _: answers)

    with contextlib.redirect_stdout(sys.stderr):  # what handlers print is not the report
        try:
            result = asyncio.run(call()) if attempt.handler.is_async else attempt.call(lambda _: answers)
            # Whatever the handler made of an effect in doubt, a person had to resolve it.
            doubt = None if answers.doubt is None else endings.failed(attempt.lease, classify(answers.doubt))
            settlement = doubt or run_blocking(attempt.conclude(result))
        except (Diverged, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 — whatever a handler raises is compared
            settlement = answers.propagated(error) or attempt.fail(error)
    answers.check()  # a handler may have caught the exception that stopped it
    return settlement


def _compare(record: TaskRecord, outcome: OutcomeLine, settlement: Settlement, answers: Answers) -> None:
    recorded = outcome.failure.get("error_class") if isinstance(outcome.failure, dict) else None
    if settlement.status != outcome.status:
        found = f"{settlement.status} {_error_class(settlement) or ''}".rstrip()
        raise Diverged(record.task, "status", f"{outcome.status} {recorded or ''}".rstrip(), found)
    if settlement.output != text_of(outcome.output):
        raise Diverged(record.task, "output", text_of(outcome.output), settlement.output)
    if not answers.failed_as_recorded and _error_class(settlement) != recorded:
        raise Diverged(record.task, "error class", recorded, _error_class(settlement))


def _error_class(settlement: Settlement) -> str | None:
    return None if settlement.failure is None else str(canonical.decode(settlement.failure).get("error_class"))


def _digest_line(record: TaskRecord, settlement: Settlement) -> dict[str, Any]:
    """What one task adds to the digest."""
    return {
        "task": record.task.task,
        "status": settlement.status,
        "output": settlement.output,
        "error_class": _error_class(settlement),
        "trace": settlement.detail,
        "posts": [[one.subject, one.recipient, one.version, one.message] for one in settlement.deliveries or []],
    }


def _compare_deliveries(record: TaskRecord, settlement: Settlement) -> None:
    """Raise the first divergence among messages: one that is missing or another, one more, another order.

    A message that stood already when the attempt was done is not on record as its own; that it was posted is known from
    the marks of the attempt's messages, which its last event has.
    """
    messages = settlement.deliveries or []
    by_identity = {(one.subject, one.recipient, one.version): one for one in messages}
    for one in record.deliveries:
        recorded = (text_of(one.message), one.provider)
        posted = _posted(by_identity.get((one.subject, one.recipient, one.version)))
        if one.created_at == record.outcomes[-1].finished_at and posted != recorded:
            raise Diverged(record.task, _description(one), canonical.encode(recorded), canonical.encode(posted))
    then = marks_in(record.events[-1].detail)
    now = [mark_of(one.subject, one.recipient, one.version, one.message, one.provider) for one in messages]
    extra = next((message for message, mark in zip(messages, now, strict=True) if mark not in then), None)
    if extra is not None:
        raise Diverged(record.task, _description(extra), None, canonical.encode(_posted(extra)))
    if len(then) != len(now):
        raise Diverged(record.task, "number of deliveries", str(len(then)), str(len(now)))
    if then != now:
        raise Diverged(record.task, "order of deliveries", " ".join(then), " ".join(now))


def _posted(message: OutgoingMessage | None) -> tuple[str | None, str] | None:
    return None if message is None else (message.message, message.provider)


def _description(one: OutgoingMessage | DeliveryLine) -> str:
    return f"delivery of '{one.subject}' to '{one.recipient}', version {one.version}"
