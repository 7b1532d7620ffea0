"""The outside world as dictionaries: a ledger of effects, and an outbox whose messages are on their way."""

from __future__ import annotations

from dataclasses import dataclass, field

from leasehold.model.outbox import DeliveryMark
from tests.store.model.modelled import Model, Name

DELIVERY_SECONDS = 40
Act = tuple[str, str | None, int | None, int]  # job, stage, segment, and which of its effects
Lease = tuple[Name, int]


@dataclass
class Effect:
    """One effect on record. `really`: what was done outside, whether or not anybody knows of it."""

    by: Lease
    result: str | None = None
    failure: str | None = None
    really: str | None = None


@dataclass
class Ledger:
    """Effects by what they are: the same act of another attempt, or of another fan-out, is the same effect."""

    model: Model
    effects: dict[Act, Effect] = field(default_factory=dict)

    def intend(self, act: Act, lease: Lease) -> str | None:
        """Return what the ledger answers to an intent; None if the lease no longer stands."""
        if not self.model.stands(*lease):
            return None
        found = self.effects.setdefault(act, Effect(lease))
        if found.result is not None:
            return "done"
        if found.failure is not None:
            found.failure, found.by = None, lease
        return "act" if found.by == lease else "doubt"

    def record(self, act: Act, lease: Lease, result: str | None, failure: str | None) -> bool:
        """Note how an effect ended; False if that did not land."""
        found = self.effects[act]
        if not self.model.stands(*lease):
            return False
        if found.result is None:
            found.result, found.failure = result, failure
            return True
        return found.result == result

    def begun(self, name: Name) -> list[Act]:
        """Return the effects of a task that have no result."""
        return [act for act, found in self.effects.items() if act[:3] == name[:3] and found.result is None]

    def unanswered(self, name: Name) -> list[Act]:
        """Return the effects of a task of which nobody knows what came of them."""
        return [act for act in self.begun(name) if self.effects[act].failure is None]


@dataclass
class Budgets:
    """What the job of each film may spend, with all its stages; what was paid is found again under the same name."""

    model: Model
    left: dict[str, int] = field(default_factory=dict)
    paid: dict[Act, tuple[int, int]] = field(default_factory=dict)

    def spend(self, lease: Lease, amount: int, number: int) -> tuple[str, str | None] | None:
        """Return what is answered to a debit, the `number`-th of its task; None if the lease no longer stands."""
        if not self.model.stands(*lease):
            return None
        key, stage, segment, _ = lease[0]
        if key not in self.left:
            return "unknown", None
        name = (key, stage, segment, number)
        if name in self.paid:
            before, left = self.paid[name]
            return ("again", str(left)) if before == amount else ("conflict", str(before))
        fits = amount <= self.left[key]
        self.left[key] -= amount if fits else 0
        if fits:
            self.paid[name] = (amount, self.left[key])
        one = self.model.tasks[lease[0]]
        one.journal.append(("spent" if fits else "refused", one.fence, one.attempt))
        return "spent" if fits else "refused", str(self.left[key])


@dataclass
class Message:
    """One message. `really`: whether its provider has it; `claimed`: whether a relay has it."""

    text: str
    due: float | None
    status: str = "pending"
    fence: int = 0
    attempts: int = 0
    really: bool = False
    claimed: bool = False

    @property
    def stands_as(self) -> tuple[str, int, int]:
        """What the table must hold about it."""
        return self.status, self.fence, self.attempts


@dataclass
class Outbox:
    """Messages by their subject: there is one recipient, and one version."""

    model: Model
    messages: dict[str, Message] = field(default_factory=dict)

    def clashes(self, subject: str, text: str) -> bool:
        """Whether another message stands in the place of this one."""
        return subject in self.messages and self.messages[subject].text != text

    def post(self, subject: str, text: str) -> None:
        """Add a message, unless it is there."""
        self.messages.setdefault(subject, Message(text, self.model.now))

    def take(self) -> dict[str, Message]:
        """Claim what is due, and begin to send it."""
        found = self.claim()
        for one in found.values():
            one.status = "sending"
        return found

    def claim(self) -> dict[str, Message]:
        """Claim what is due. What was claimed and not begun has spent nothing."""
        found = {subject: one for subject, one in self.messages.items() if one.due is not None}
        found = {subject: one for subject, one in found.items() if (one.due or 0) <= self.model.now}
        for one in found.values():
            one.attempts += 0 if one.status == "pending" and one.claimed else 1
            one.fence, one.claimed, one.due = one.fence + 1, True, self.model.now + DELIVERY_SECONDS
        return found

    def give_back(self) -> int:
        """The relay is gone: what it had claimed is due."""
        found = [one for one in self.messages.values() if one.claimed]
        for one in found:
            one.attempts -= one.status == "pending"
            one.claimed, one.due = False, self.model.now
        return len(found)

    def is_held(self, subject: str, fence: int) -> bool:
        """Whether nobody else can have taken a message since."""
        one = self.messages[subject]
        return one.status == "sending" and one.fence == fence and one.due is not None and one.due > self.model.now

    def mark(self, subject: str, mark: DeliveryMark) -> bool:
        """Note what came of a message; False if the claim was gone."""
        one = self.messages[subject]
        if one.fence != mark.fence or one.status != "sending":
            return False
        one.status, one.attempts, one.claimed = mark.status, one.attempts - 1 + mark.spent, False
        one.due = None if mark.delay_us is None else self.model.now + mark.delay_us / 1_000_000
        return True

    def answer(self, subject: str, *, sent: bool) -> bool:
        """Note what a person knows; False if nobody asked."""
        one = self.messages[subject]
        if one.status not in ("in_doubt", "failed"):
            return False
        one.status, one.fence, one.claimed = "sent" if sent else "pending", one.fence + 1, False
        one.due, one.attempts = (None, one.attempts) if sent else (self.model.now, 0)
        return True
