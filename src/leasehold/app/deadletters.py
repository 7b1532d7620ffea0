"""The façade's noun `app.deadletters`: the operator's workflow, in its order.

Read (`list`, `get`), record the remedy (`evidence`, `answer`), check what would happen (`plan`), `revive`, and close
what ended DONE (`resolve`). Every action names its principal in the audit trail.
"""

import builtins
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypedDict, Unpack

from msgspec import Struct

from leasehold import canonical
from leasehold.app.ready_store import Operations
from leasehold.canonical import INTEGER_MAX
from leasehold.errors import EffectSettled, LeaseholdError, LetterRevived, OptionInvalid, Unavailable, check_error_class
from leasehold.insight.read import deadletters as insight
from leasehold.insight.read import effects, revival_plan
from leasehold.insight.read.deadletters import DeadLetter, DeadLetterDetail
from leasehold.insight.read.revival_plan import RevivalPlan
from leasehold.model.failure.wording import fit
from leasehold.model.limits import EVIDENCE_LENGTH_MAX, PAGE_MAX, TICKET_LENGTH_MAX
from leasehold.model.names import check_choice, check_flag, check_id, check_name, check_visible, check_whole
from leasehold.model.revival import LetterState
from leasehold.redact import scrub
from leasehold.store.audit import principal_of
from leasehold.store.deadletters import LetterFilter, LetterRow, Revived

KEY_PREFIX_MIN = 8


class Filters(TypedDict, total=False):
    """Which letters: those that match all that is given."""

    kind: str | None
    stage: str | None
    error_class: str | None
    state: str | None
    escalated: bool | None


class RefusedLetter(Struct, frozen=True):
    """A letter that was not changed, and why."""

    letter_id: int
    code: str
    reason: str


class RevivalReport(Struct, frozen=True):
    """The result of an action on many letters; after a dry run, what it would be. `left`: how many more match."""

    done: list[int]
    refused: list[RefusedLetter]
    left: int = 0


class DeadLetterOperations(Operations):
    """What operators do with tasks that failed for good."""

    def list(
        self, *, before: int | None = None, limit: int = 50, **filters: Unpack[Filters]
    ) -> builtins.list[DeadLetter]:
        """List letters, newest first; `before` continues where the last page ended."""
        check_whole(limit, 1, PAGE_MAX, "limit")
        return insight.listing(self._store, _where(filters, before), limit)

    def get(self, letter_id: int) -> DeadLetterDetail:
        """Read a letter in full, with every burial of its task; `LetterUnknown` if there is none with this id."""
        return insight.find(self._store, check_id(letter_id, "letter"))

    def evidence(self, letter_id: int, text: str, *, ticket: str | None = None, principal: str | None = None) -> None:
        """Record how an open letter was remedied; without evidence it cannot be revived."""
        letter, who = check_id(letter_id, "letter"), principal_of(principal)
        self._store.deadletters.evidence(letter, who, _remedy(text, ticket))

    def evidence_many(
        self,
        text: str,
        *,
        ticket: str | None = None,
        principal: str | None = None,
        limit: int | None = None,
        **filters: Unpack[Filters],
    ) -> RevivalReport:
        """Record the same evidence for every open letter that matches, newest first, at most `limit`."""
        detail, who = _remedy(text, ticket), principal_of(principal)
        return self._each(filters, limit, lambda letter: self._store.deadletters.evidence(letter.id, who, detail))

    def plan(self, letter_id: int, *, from_start: bool = False) -> RevivalPlan:
        """Return what a revival would do; nothing is changed."""
        return revival_plan.make(self._store, check_id(letter_id, "letter"), from_start=from_start)

    def revive(self, letter_id: int, *, from_start: bool = False, principal: str | None = None) -> Revived:
        """Run the failed task again, in a new epoch, from the stage that failed or (`from_start`) the whole job.

        Of many concurrent calls one succeeds; the others get `LetterRevived`.
        """
        letter, who = check_id(letter_id, "letter"), principal_of(principal)
        done = self._store.deadletters.revive(letter, who, from_start=from_start)
        # crash here: revived but not woken
        # The new epoch stands; workers find it when they look.
        self._store.wake(done.queues)
        return done

    def revive_many(
        self,
        *,
        from_start: bool = False,
        dry_run: bool = False,
        principal: str | None = None,
        limit: int | None = None,
        **filters: Unpack[Filters],
    ) -> RevivalReport:
        """Revive every open letter that matches, newest first, each in a transaction of its own; at most `limit`.

        A dry run changes nothing and refuses what the real run would.
        """
        restarted: set[int] = set()

        def act(letter: LetterRow) -> None:
            if dry_run:
                self._rehearse(letter, restarted, from_start=from_start)
            else:
                self.revive(letter.id, from_start=from_start, principal=principal)

        return self._each(filters, limit, act)

    def resolve(self, letter_id: int, notes: str, *, principal: str | None = None) -> None:
        """Close a letter that was revived and whose job is DONE, or one whose job was cancelled, with notes."""
        text = _operator_text(notes, EVIDENCE_LENGTH_MAX, "Notes")
        self._store.deadletters.resolve(check_id(letter_id, "letter"), principal_of(principal), text)

    def answer(
        self, letter_id: int, key: str, *, happened: bool, result: object = None, principal: str | None = None
    ) -> None:
        """Record what happened to an effect in doubt: it was done, with this result, or it was not and is done again.

        `key` may be a prefix, as long as only one effect of the job has it.
        """
        text = _answer_text(result, happened=happened)
        letter = self._store.deadletters.get(check_id(letter_id, "letter")).letter
        self._store.deadletters.answer(letter.id, self._effect_key(letter.job_id, key), principal_of(principal), text)

    def answer_cancelled(
        self, job_id: int, key: str, *, happened: bool, result: object = None, principal: str | None = None
    ) -> None:
        """Record the same of an effect of a cancelled job, which has no letter and is not revived."""
        text = _answer_text(result, happened=happened)
        whole = self._effect_key(check_id(job_id, "job"), key)
        self._store.deadletters.answer_cancelled(job_id, whole, principal_of(principal), text)

    def _effect_key(self, job_id: int, key: str) -> str:
        if len(key) < KEY_PREFIX_MIN:
            raise OptionInvalid(f"Give at least {KEY_PREFIX_MIN} characters of the effect's key.")
        found = [row.key for row in effects.rows_of(self._store, job_id) if row.key.startswith(key)]
        if not found:
            raise EffectSettled(f"Job {job_id} has no effect whose key begins with {key[:64]!r}.")
        if len(found) > 1:
            raise OptionInvalid(f"{len(found)} effects begin with {key[:64]!r}; give more of the key.")
        return found[0]

    def _rehearse(self, letter: LetterRow, restarted: set[int], *, from_start: bool) -> None:
        """Raise what a revival would. A restarted job takes its other letters with it, so those are refused."""
        if letter.job_id in restarted:
            raise LetterRevived(f"Letter {letter.id} would be revived with another of job {letter.job_id}.")
        if (refused := revival_plan.refusal(self._store, letter, from_start=from_start)) is not None:
            raise refused
        if from_start:
            restarted.add(letter.job_id)

    def _each(self, filters: Filters, limit: int | None, act: Callable[[LetterRow], object]) -> RevivalReport:
        if limit is not None:
            check_whole(limit, 1, INTEGER_MAX, "limit")
        if filters.get("state") not in (None, LetterState.OPEN):
            raise OptionInvalid("Only open letters can be remedied and revived; leave state out.")
        done: list[int] = []
        refused: list[RefusedLetter] = []
        letters = self._matching({**filters, "state": LetterState.OPEN.value})
        for letter in islice(letters, limit):
            try:
                act(letter)
                done.append(letter.id)
            except Unavailable:
                raise
            except LeaseholdError as error:
                refused.append(RefusedLetter(letter.id, error.code, str(error)))
        return RevivalReport(done, refused, sum(1 for _ in letters))

    def _matching(self, filters: Filters) -> Iterator[LetterRow]:
        """Yield all letters that match, newest first, page by page."""
        before: int | None = None
        while page := self._store.deadletters.list(_where(filters, before), PAGE_MAX):
            yield from page
            before = page[-1].id


def _remedy(text: str, ticket: str | None) -> dict[str, str]:
    found = {"text": _operator_text(text, EVIDENCE_LENGTH_MAX, "Evidence")}
    return found if ticket is None else {**found, "ticket": _operator_text(ticket, TICKET_LENGTH_MAX, "A ticket")}


def _operator_text(text: str, most: int, what: str) -> str:
    """Check and redact what an operator wrote."""
    return fit(check_visible(text, most, what), most, scrub)


def _answer_text(result: object, *, happened: bool) -> str | None:
    if check_flag(happened, "happened"):
        return canonical.encode(result)
    if result is not None:
        raise OptionInvalid("What did not happen has no result.")
    return None


def _where(filters: Filters, before: int | None) -> LetterFilter:
    check_choice(filters.get("state"), LetterState, "state")
    if filters.get("error_class") is not None:
        check_error_class(filters["error_class"])
    for name, what in ((filters.get("kind"), "kind"), (filters.get("stage"), "stage")):
        if name is not None:
            check_name(name, what)
    return LetterFilter(**filters, before=before)
