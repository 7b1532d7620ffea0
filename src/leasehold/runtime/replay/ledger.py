"""The ledger of a replay: every effect is answered from the record, or the replay has diverged. It never acts."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import UNSET, Struct

from leasehold import canonical
from leasehold.errors import EffectInDoubt, StateDenied
from leasehold.model import effect
from leasehold.model.effect import Entry, Intent, Record
from leasehold.model.failure.verdict import Verdict
from leasehold.model.journal.event import Name
from leasehold.model.journal.record import EffectLine, EventLine, TaskLine, TaskRecord, text_of
from leasehold.model.lease import Settlement
from leasehold.model.machine import Move, Step
from leasehold.model.tree.budget import Spend
from leasehold.model.tree.link import Link
from leasehold.runtime.commit.requests import AnyReply, CommitChannel, Item
from leasehold.runtime.replay.errors import Recorded
from leasehold.runtime.replay.tree import Other, TreeAnswers
from leasehold.shapes import from_fields

SHOWN_MAX: Final = 500


class Divergence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first thing that was not as recorded."""

    task: int
    stage: str | None = None
    segment: int | None = None
    what: str
    expected: str | None = None
    found: str | None = None


class Diverged(BaseException):
    """Raised through a handler; not an `Exception`, so that no handler takes it for a failure of its own."""

    def __init__(self, task: TaskLine, what: str, expected: str | None, found: str | None) -> None:
        super().__init__(what)
        self.divergence = from_fields(
            Divergence, task, task=task.task, what=what, expected=_cut(expected), found=_cut(found)
        )


class Answers(CommitChannel):
    """How a replayed attempt reaches the engine: the record answers its effects and moves, and notes what was asked."""

    cancelled = False
    interrupted = False
    lost = False
    stopping = False

    def __init__(
        self,
        record: TaskRecord,
        ending: EventLine,
        effects: Mapping[str, EffectLine],
        tree: TreeAnswers,
        inputs: Callable[[], dict[str, Any]],
        home: str,
    ) -> None:
        """`effects` and `tree`: what all tasks of the job have on record."""
        self.inputs = inputs
        self._tree = tree
        self._record = record
        self._ending = ending
        self._effects = effects
        self._home = home
        self._stop: Diverged | None = None
        self._disorder: Diverged | None = None
        self._turned: Diverged | None = None
        self._asked: dict[str, int] = {}
        self._raised: list[tuple[BaseException, Verdict | None]] = []
        self.failed_as_recorded = False
        self.doubt: EffectInDoubt | None = None
        self.asked = 0
        moves = (number for number, event in enumerate(record.events) if event.name == Name.MOVED)
        self._moves = {number for number in moves if record.events[number].fence == ending.fence}

    def report_progress(self, progress: str) -> None:
        """Let progress go nowhere."""

    def commit(self, item: Item, reply: AnyReply) -> None:
        """Answer at once: no turn of the loop lets others in between. Nothing is done that could be recorded."""
        match item:
            case Intent():
                entry = self._answer(item)
            case Move():
                entry = self._moved(item)
            case Spend():
                entry = self._answered(self._tree.spent(item))
            case Link():
                entry = self._answered(self._tree.linked(item))
            case Record():
                raise self._diverge(Diverged(self._record.task, "effect", "answered from the record", "done again"))
        reply.answer(entry)

    def _answered(self, found: Entry | Other) -> Entry:
        """Return what the record answers, or diverge."""
        if isinstance(found, Other):
            raise self._diverge(Diverged(self._record.task, found.what, found.expected, found.found))
        return found

    def transact(self, intent: Intent, act: Callable[[object], Record]) -> Entry:  # noqa: ARG002 — it never acts
        return self._answer(intent)

    def _answer(self, intent: Intent) -> Entry:
        found = self._effects.get(intent.key)
        if found is None:
            raise self._diverge(self._other_effect(intent))
        self.asked += 1
        self._follow(intent, found.number)
        result = text_of(found.result)
        if self._in_doubt(found):
            raise self._doubted(intent)
        if result is None:
            raise self._again(found)
        return Entry(intent.task_id, intent.fence, intent.key, effect.LedgerAnswer.DONE, result)

    def _moved(self, move: Move) -> Entry:
        """Answer a move: it was made then by this attempt or one before, or refused."""
        made = [event for event in self._record.events if event.name == Name.MOVED and _leads(event, move)]
        verdict = Step.DENIED
        if len(made) >= move.ordinal:
            verdict = Step.RETRY
            self._moves.discard(self._record.events.index(made[move.ordinal - 1]))
        elif _detail(self._ending).get("error_class") != StateDenied.code:
            made_now = f"{move.target} {move.subject}".rstrip()
            raise self._diverge(Diverged(self._record.task, "move", None, made_now))
        return Entry(move.task_id, move.fence, move.key, verdict, None)

    def _follow(self, intent: Intent, number: int) -> None:
        """Note the first effect that has another number than then, and the first asked for after one that followed."""
        if intent.key in self._asked:
            return
        found = self._other_effect(intent)
        if number != intent.number:
            self._disorder = self._disorder or found
        if self._turned is None and number < max(self._asked.values(), default=0):
            self._turned = self._disorder or found
        self._asked[intent.key] = number

    def _other_effect(self, intent: Intent) -> Diverged:
        """Name the effect that the record has at this place, and the one that was asked for."""
        there = (one for one in self._record.effects if one.number == intent.number)
        recorded = next((_shown(one.kind, text_of(one.fields)) for one in there), None)
        return Diverged(self._record.task, f"effect {intent.number}", recorded, _shown(intent.kind, intent.fields))

    def _diverge(self, found: Diverged) -> Diverged:
        self._stop = self._stop or found
        return self._stop

    def _in_doubt(self, found: EffectLine) -> bool:
        """Whether the attempt did not know how it ended: nobody did, or a person resolved it after the failure."""
        if found.result is UNSET and found.failure is UNSET:
            return True
        return self._ending.name == Name.FAILED and (found.recorded_at or 0) > self._ending.at

    def _doubted(self, intent: Intent) -> EffectInDoubt:
        """Make what stops a handler at an effect in doubt: a verdict of doubt would have it looked up or redone."""
        error = EffectInDoubt(f"It is {intent.kind}, key {intent.key}.")
        self.doubt = self.doubt or error
        self._raised.append((error, None))
        return error

    def _again(self, found: EffectLine) -> BaseException:
        """Make the failure that the effect ended with, so that a handler which caught it then catches it now."""
        recorded = Recorded(found.failure if isinstance(found.failure, dict) else {}, self._home)
        self._raised.append((recorded.error(), recorded.verdict()))
        return self._raised[-1][0]

    def rule(self, error: BaseException) -> Verdict | None:
        """Classify a recorded failure as it was then, after the pipeline's own rules: it lacks what was looked at."""
        return next((verdict for one, verdict in self._raised if one is error), None)

    def propagated(self, error: BaseException) -> Settlement | None:
        """Return the recorded end if it is a recorded failure of an effect that ended the attempt, now as then."""
        outcome = self._record.outcomes[-1]
        if outcome.status != "ERROR" or not any(error is one for one, _ in self._raised):
            return None
        self.failed_as_recorded = True
        failure = outcome.failure if isinstance(outcome.failure, dict) else {}
        return Settlement(self._record.task.task, outcome.fence, "ERROR", failure=canonical.encode(failure))

    def check(self) -> None:
        """Raise what a handler may have caught."""
        if self._stop is not None:
            raise self._stop

    def judge(self, settlement: Settlement) -> None:
        """Raise unless the effects were asked for as then: all of them, in the same order."""
        own = all(one.fence == self._ending.fence for one in self._record.effects)  # no other attempt numbered some
        if self._turned is not None and own and settlement.status == "ERROR" and self._ending.name == Name.FAILED:
            raise self._turned
        if settlement.status != "DONE" or self._ending.name != Name.DONE:
            return  # which effects a failed attempt asked for is not on record; a different status is the better report
        if self._moves:
            raise Diverged(self._record.task, "move", text_of(self._record.events[min(self._moves)].detail), None)
        if (missed := self._tree.missed()) is not None:
            raise Diverged(self._record.task, missed.what, missed.expected, missed.found)
        trace = canonical.decode(settlement.detail) if settlement.detail else {}
        recorded, asked = _detail(self._ending).get("effects", []), trace.get("effects", [])
        if recorded == asked:
            return
        if len(recorded) != len(asked):
            counts = (str(len(recorded)), str(len(asked)))
            raise self._disorder or Diverged(self._record.task, "number of effects", *counts)
        if self._disorder is not None:
            raise self._disorder
        # Asked for in the same order, but answered in another: they were under way at the same time.


def _detail(event: EventLine) -> dict[str, Any]:
    return event.detail if isinstance(event.detail, dict) else {}


def _leads(event: EventLine, move: Move) -> bool:
    detail = _detail(event)
    return (detail.get("to"), detail.get("of", "")) == (move.target, move.subject)


def _shown(kind: str, fields: str | None) -> str:
    return f"{kind} {fields or ''}".rstrip()


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"
