"""Effects: the ledger of acts on the outside world. Every write of an attempt names its task and fence."""

from collections.abc import Callable, Sequence
from operator import attrgetter

from msgspec import Struct

from leasehold.errors import EffectInDoubt, LeaseLost, Misuse
from leasehold.model.effect import Entry, Intent, LedgerAnswer, Record
from leasehold.model.limits import IDLE_MS_MAX
from leasehold.model.machine import Move
from leasehold.model.tree.budget import Spend
from leasehold.model.tree.link import Link
from leasehold.store.db.database import Database, ErrorKind, Noun, Row, Session
from leasehold.store.db.documents import document
from leasehold.store.machines import move_all
from leasehold.store.tree.budgets import spend_all
from leasehold.store.tree.links import link_all


class EffectFacts(Struct, frozen=True):
    """One effect as it is stored; texts are canonical JSON. Without result and failure it is only intended."""

    task_id: int
    key: str
    number: int
    kind: str
    fields: str
    fence: int
    attempt: int
    result: str | None
    failure: str | None
    intended_at: int
    recorded_at: int | None


class EffectRow(EffectFacts, frozen=True):
    """One effect with the names of its task."""

    job_id: int
    stage: str | None
    segment: int | None


class _CallerError(Exception):
    """Carries an error of the caller's part of a transaction through ours."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Effects(Noun):
    def __init__(self, database: Database, wake: Callable[[set[str]], None]) -> None:
        super().__init__(database)
        self._wake = wake

    def enter(
        self,
        intents: Sequence[Intent],
        records: Sequence[Record],
        moves: Sequence[Move] = (),
        links: Sequence[Link] = (),
        spends: Sequence[Spend] = (),
        on_write_lock: Callable[[], object] | None = None,
    ) -> list[Entry]:
        """Commit intents, records, moves, linked jobs and spends; those missing in the answer have lost their lease.

        `on_write_lock` is called, with a single writer, when this one has the lock: it may add to them.
        """

        def work(session: Session) -> list[Row]:
            if on_write_lock is not None and self._database.dialect.single_writer:
                on_write_lock()
            rows: list[Row] = []
            if intents or records:
                rows = session.run("effects/enter", intents=_by_task(intents), records=_by_task(records))
            return [*rows, *move_all(session, moves), *link_all(session, links), *spend_all(session, spends)]

        rows = self._database.transact(work) if moves or links else self._database.perform(work)
        return [Entry(*row) for row in rows]

    def transact(self, intent: Intent, act: Callable[[object], Record]) -> Entry:
        """Run `act` on a connection of this database; its rows and its record commit together, or neither does."""
        hints: set[str] = set()  # what the act submits is announced after the commit

        def work(session: Session) -> Entry:
            session.run("session/idle_limit", limit=str(IDLE_MS_MAX))
            found = _answer(session.run("effects/enter", intents=document([intent]), records="[]"))
            if found.verdict == LedgerAnswer.DONE:
                return found
            if found.verdict == LedgerAnswer.DOUBT:
                raise EffectInDoubt(f"It is {intent.kind}: its act has ended a transaction that was not its own.")
            record = self._act(session, act, hints)
            _answer(session.run("effects/enter", intents="[]", records=document([record])))
            return Entry(record.task_id, record.fence, record.key, "recorded", record.result)

        try:
            entry = self._database.transact(work)
        except _CallerError as error:
            raise error.error from error.error.__cause__
        if hints:
            self._wake(hints)
        return entry

    def _act(self, session: Session, act: Callable[[object], Record], hints: set[str]) -> Record:
        """Run the caller's part inside a savepoint; if `act` commits or rolls back, the savepoint is missing."""
        record: Record | None = None
        try:
            with session.atomic(write=True), self._database.joined(session) as binding:
                record = self._call(act, session)
                hints.update(binding.hints)
        except _CallerError:
            raise
        except Exception as error:
            if record is not None and self._database.dialect.classify(error) is ErrorKind.FINAL:
                raise Misuse(
                    "The act of a transaction must not commit or roll back; leave that to the engine."
                ) from error
            raise
        return record

    def _call(self, act: Callable[[object], Record], session: Session) -> Record:
        """Raise the caller's errors unchanged; only errors that a retry can heal are ours."""
        try:
            record = act(session.raw)
        except Exception as error:
            if self._database.dialect.classify(error) is ErrorKind.RETRY:
                raise
            raise _CallerError(error) from error
        if not session.usable:
            raise _CallerError(Misuse("The act of a transaction must not close the connection it was lent."))
        return record

    def of(self, job_id: int, after: EffectRow | None = None, most: int = 1_000) -> list[EffectRow]:
        """List a job's effects, task by task, in the order in which they were first intended."""
        task, number, key = (0, 0, "") if after is None else (after.task_id, after.number, after.key)
        return self._list(EffectRow, "effects/list", job=job_id, task=task, number=number, key=key, most=most)


def _by_task(entries: Sequence[Intent | Record]) -> str:
    return document(sorted(entries, key=attrgetter("task_id")))


def _answer(rows: list[tuple[object, ...]]) -> Entry:
    if not rows:
        raise LeaseLost
    return Entry(*rows[0])  # type: ignore[arg-type]
