"""Budgets: how much a job, and everything below it, may spend of something that is counted. Pure.

A spend is paid once, however many attempts ask for it. It is identified like an effect, by its task: with the caller's
key, or else with its amount and how many equal ones the attempt has asked for before. So the order does not matter, and
an amount that differs from the one before is another spend: what cannot be repeated is counted rather than forgotten.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from leasehold import canonical
from leasehold.errors import OptionInvalid
from leasehold.model.effect import key_of
from leasehold.model.lease import Lease
from leasehold.model.limits import AMOUNT_MAX, BUDGETS_MAX, KEY_LENGTH_MAX
from leasehold.model.names import check_name, check_text, check_whole


class DebitAnswer(StrEnum):
    SPENT = "spent"
    AGAIN = "again"  # it was paid before; the answer is that of then
    REFUSED = "refused"  # it would pass the limit
    UNKNOWN = "unknown"  # the job at the root has no budget of this name
    CONFLICT = "conflict"  # its key was paid with another amount


class Spend(Struct, frozen=True):
    """One debit that an attempt asks for."""

    job_id: int
    key: str
    task_id: int
    fence: int
    name: str
    amount: int


class Budget(Struct, frozen=True):
    """How much of a budget there is, and how much of that was spent."""

    limit: int
    spent: int

    @property
    def left(self) -> int:
        return self.limit - self.spent


def check_budget(budget: object) -> dict[str, int] | None:
    """Return the limits of a submit by name, in the order of names; None without any."""
    if budget is None:
        return None
    if not isinstance(budget, Mapping) or not 1 <= len(budget) <= BUDGETS_MAX:
        raise OptionInvalid(f"budget has 1 to {BUDGETS_MAX} limits by name, such as {{'tokens': 20_000}}.")
    names = sorted(check_name(name, "budget") for name in budget)
    return {name: check_whole(budget[name], 0, AMOUNT_MAX, f"The budget '{name}'") for name in names}


def make_spend(lease: Lease, identity: str, name: str, amount: int, how: str | int) -> Spend:
    """Make a spend; `how`: the caller's key, or which one of equal spends it is, from 1."""
    fields: dict[str, Any] = {"name": name, "key": how} if isinstance(how, str) else {}
    text = canonical.encode(fields or {"amount": amount, "name": name, "number": how})
    # No effect has a kind with a colon: the two never have the same key.
    return Spend(lease.job_id, key_of(identity, "spend:", text), lease.task_id, lease.fence, name, amount)


def check_spend(name: object, amount: object, key: object) -> None:
    check_name(name, "budget")
    check_whole(amount, 0, AMOUNT_MAX, "The amount")
    if key is not None:
        check_text(key, KEY_LENGTH_MAX, "The key of a spend")
