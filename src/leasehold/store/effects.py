"""Effects: the ledger of acts on the outside world. Every write of an attempt names its task and fence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from msgspec import Struct

from leasehold.errors import EffectSettled, LeaseLost
from leasehold.model.effect import Entry, Intent, Record
from leasehold.store.database import Database, Session
from leasehold.store.documents import document


class EffectRow(Struct, frozen=True):
    """One effect as it is stored; texts are canonical JSON. Without result and failure it is only intended."""

    job_id: int
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
    stage: str | None
    segment: int | None


class Effects:
    """The noun `store.effects`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def enter(self, intents: Sequence[Intent], records: Sequence[Record]) -> list[Entry]:
        """Commit intents and records together; of those missing in the answer the lease no longer stands."""
        rows = self._database.write(
            "ledger",
            intents=document(sorted(intents, key=attrgetter("task_id"))),
            records=document(sorted(records, key=attrgetter("task_id"))),
        )
        return [Entry(*row) for row in rows]

    def transact(self, intent: Intent, act: Callable[[object], Record]) -> Entry:
        """Run `act` on a connection of this database; its rows and its record commit together, or neither does."""

        def work(session: Session) -> Entry:
            found = _answer(session.run("ledger", intents=document([intent]), records="[]"))
            if found.verdict == "done":
                return found
            record = act(session.raw)
            _answer(session.run("ledger", intents="[]", records=document([record])))
            return Entry(record.task_id, record.fence, record.key, "recorded", record.result)

        return self._database.transact(work)

    def of(self, job_id: int, after: EffectRow | None = None, most: int = 1_000) -> list[EffectRow]:
        """List a job's effects, task by task, in the order in which they were first intended."""
        task, number, key = (0, 0, "") if after is None else (after.task_id, after.number, after.key)
        rows = self._database.read("effects", job=job_id, task=task, number=number, key=key, most=most)
        return [EffectRow(*row) for row in rows]

    def answer(self, job_id: int, key: str, *, result: str | None, failure: str | None) -> None:
        """Record what a person knows of an effect in doubt; `EffectSettled` if it has a result or its task runs."""
        if not self._database.write("effect_answer", job=job_id, key=key, result=result, failure=failure):
            raise EffectSettled(f"The effect is {key[:16]} of job {job_id}.")


def _answer(rows: list[tuple[object, ...]]) -> Entry:
    if not rows:
        raise LeaseLost
    return Entry(*rows[0])  # type: ignore[arg-type]
