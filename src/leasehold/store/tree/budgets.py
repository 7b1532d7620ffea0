"""Budgets: limits that new jobs get, and debits, each under a lease and never past a limit."""

from collections.abc import Mapping, Sequence

from leasehold import canonical
from leasehold.model.effect import Entry
from leasehold.model.tree.budget import Budget, Spend
from leasehold.store.db.database import Noun, Row, Session
from leasehold.store.db.documents import document


class Budgets(Noun):
    def add(self, job_ids: Sequence[int], limits: Mapping[str, int]) -> None:
        """Give new jobs their budgets, each the same. In the transaction of their submit."""
        self._database.transact(lambda session: _add(session, job_ids, limits))

    def spend(self, spends: Sequence[Spend]) -> list[Entry]:
        """Debit budgets; those missing in the answer have lost their lease.

        Each debit by itself is whole: where the database allows, many debits are no one transaction.
        """
        return [Entry(*row) for row in self._database.perform(lambda session: spend_all(session, spends))]

    def of(self, job_id: int) -> dict[str, Budget]:
        """Return the budgets that a job spends from, by name: its own, or those of the job at its root."""
        return {name: Budget(most, spent) for name, most, spent in self._database.read("budgets/of_job", job=job_id)}


def _add(session: Session, job_ids: Sequence[int], limits: Mapping[str, int]) -> None:
    if job_ids:
        items = [{"name": name, "most": most} for name, most in limits.items()]
        detail = canonical.encode({"limits": dict(limits)})
        session.run("budgets/add", jobs=document(job_ids), limits=document(items), detail=detail)


def spend_all(session: Session, spends: Sequence[Spend]) -> list[Row]:
    """Debit budgets: one debit of each task, then the next of each, and so on.

    The event of a debit is chained to the one before of its task: a statement can write one of each.
    """
    rows: list[Row] = []
    while spends:
        first, spends = _one_of_each(spends)
        rows += session.run("budgets/spend", spends=document(first))
    return rows


def _one_of_each(spends: Sequence[Spend]) -> tuple[list[Spend], list[Spend]]:
    """Return the first spend of each task, and the others, in the order in which they were asked for."""
    first: dict[int, Spend] = {}
    later = [one for one in spends if first.setdefault(one.task_id, one) is not one]
    return list(first.values()), later
