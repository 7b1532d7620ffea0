"""What is done to one database in a model-based test: asked by name, answered by name, and witnessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leasehold import canonical
from leasehold.errors import LeaseholdError
from leasehold.model import effect, outbox
from leasehold.model import lease as endings
from leasehold.model.delivery import make_message, trace_of
from leasehold.model.effect import Intent, identity_of_lease
from leasehold.model.failure.failure import Failure
from leasehold.model.failure.loss import Reclaim, suspect_route
from leasehold.model.lease import Lease, Progress, Renewal, Settlement
from leasehold.model.outbox import ClaimedDelivery, DeliveryMark
from leasehold.model.retry import Retry
from leasehold.model.tree.budget import make_spend
from leasehold.store.deliveries import DeliveryAnswer
from tests.store import work
from tests.store.model.modelled import LEASE_SECONDS, Loss, Name
from tests.store.model.modelled_jobs import QUEUES, STAGES
from tests.store.model.modelled_outside import DELIVERY_SECONDS, Act
from tests.store.model.sides import Side

Held = tuple[Name, int]
ORDINARY = ["a", *(f"film/{stage}" for stage in STAGES)]
ROUTES = [*ORDINARY, *map(suspect_route, ORDINARY)]
LIVE = True  # every act here happens while its lease or claim stands
RECIPIENT = "ada@example.org"
PROVIDER = "mail"
BUDGET = {"tokens": 50}
RELAY = 7  # the number of its worker process
POLICY = Retry(attempts=3, delay_initial=2, delay_max=10)
AFTER = {"script": (), "audio": ("script",), "render": ("audio",)}
FILM = [
    work.stage(name, *AFTER[name], each="scenes" if name == "audio" else None, queue=QUEUES[name], attempts_max=2)
    for name in STAGES
]


def submit(side: Side, key: str, **options: Any) -> bool:
    (one,) = side.store.tasks.submit([work.job(key, **options)])
    side.witness.saw("acked", one.id, "a", key)
    side.learn()
    return one.created


def submit_film(side: Side, key: str, priority: int, delay: float) -> bool:
    one = work.pipeline(side.store, key, *FILM, priority=priority, delay=delay)
    if one.created:
        side.store.budgets.add([one.id], BUDGET)
    side.witness.saw("acked", one.id, "film", key)
    side.learn()
    return one.created


def claim(side: Side, queues: Sequence[str], most: int, *, limited: bool) -> list[tuple[Name, int, int]]:
    if limited:
        routes, lane = canonical.encode(ROUTES), work.lane(queues[0])
        found = side.store.leases.claim_limited(side.worker, queues[0], routes, most, lane).leases
    else:
        found = work.claim(side.store, side.worker, most, queues, ROUTES)
    for lease in found:
        side.leases[side.names[lease.task_id], lease.fence] = lease
        side.witness.saw("began", lease.task_id, lease.fence, lease.queue, LIVE)
    return [(side.names[lease.task_id], lease.fence, lease.attempt) for lease in found]


def end(
    side: Side, held: Held, how: str, output: Any, posts: Sequence[tuple[str, str]], failure: Failure
) -> Settlement:
    """Make the end of an attempt, as a worker would."""
    lease = side.leases[held]
    if how == "ERROR":
        return endings.failed(lease, failure)
    if how == "RETRY":
        return endings.retried(lease, failure, 3_000_000, canonical.encode({"delay_us": 3_000_000}))
    letters = [make_message(subject, RECIPIENT, 1, {"text": text}, PROVIDER) for subject, text in posts]
    side.witness.saw("returned", lease.task_id, lease.fence, output)
    for letter in letters:
        side.witness.saw("posted", lease.task_id, lease.fence, letter.subject, letter.recipient, letter.version)
    detail = canonical.encode(trace_of(letters)) if letters else None
    return endings.done(lease, canonical.encode(output), detail, letters or None)


def settle(side: Side, ends: Sequence[Settlement]) -> list[tuple[Name, int, str, bool]]:
    landed = side.store.leases.settle(ends)
    return sorted(
        ((side.names[one.task_id], one.fence, one.status, bool(one.has_dependents)) for one in landed), key=str
    )


def renew(side: Side, leases: Sequence[Held]) -> dict[Held, str | None]:
    asked = [Renewal(side.ids[name], fence, LEASE_SECONDS * 1000) for name, fence in leases]
    return {(side.names[one.task_id], one.fence): one.cancel_reason for one in side.store.leases.renew(asked)}


def note(side: Side, leases: Sequence[Held]) -> set[Held]:
    notes = [Progress(side.ids[name], fence, f'{{"done":{fence}}}') for name, fence in leases]
    return {(side.names[task], fence) for task, fence in side.store.leases.record_progress(notes)}


def reclaim(side: Side, leases: Sequence[Held], loss: Loss) -> dict[Name, str]:
    failure = Failure("WORKER_CRASHED", "too often").text() if loss.is_last else None
    found = side.store.leases.reclaim(
        [
            Reclaim(side.ids[name], fence, loss.why, loss.began, loss.delay * 1_000_000, failure)
            for name, fence in leases
        ]
    )
    return {side.names[one.task_id]: one.status for one in found}


def sweep(side: Side) -> dict[Name, str]:
    found = side.store.leases.reclaim(side.store.losses.expired())
    return {side.names[one.task_id]: one.status for one in found}


def advance(side: Side) -> None:
    work.advance(side.store)
    side.learn()


def cancel(side: Side, key: str) -> int:
    count = side.store.tasks.cancel(side.ids[key, None, None, 1], work.REASON)
    side.witness.saw("called off", side.ids[key, None, None, 1], count.ended + count.asked)
    return count.ended + count.asked


def revive(side: Side, name: Name, epoch: int, *, from_start: bool) -> str | None:
    """Press the button; return why it was refused."""
    letter = side.letter_id(name, epoch)
    try:
        side.store.deadletters.revive(letter, "ada", from_start=from_start)
    except LeaseholdError as error:
        return error.code
    side.witness.saw("revived", letter)
    side.learn()
    return None


def evidence(side: Side, name: Name, epoch: int) -> None:
    side.store.deadletters.evidence(side.letter_id(name, epoch), "ada", {"text": "mended"})


def intent_of(side: Side, act: Act, held: Held) -> Intent:
    lease: Lease = side.leases[held]
    return effect.intend(lease, "SEND", {"number": act[3]}, act[3])


def intend(side: Side, act: Act, held: Held) -> list[tuple[str, str | None]]:
    found = side.store.effects.enter([intent_of(side, act, held)], [])
    return [(str(one.verdict), one.result) for one in found]


def spend(side: Side, spends: Sequence[tuple[Held, int, int]]) -> dict[Name, tuple[str, str | None]]:
    """Debit budgets, each as the `number`-th debit of its task."""
    asked = []
    for held, amount, number in spends:
        lease = side.leases[held]
        asked.append(make_spend(lease, identity_of_lease(lease), "tokens", amount, f"number {number}"))
    found = side.store.budgets.spend(asked)
    return {side.names[one.task_id]: (str(one.verdict), one.result) for one in found}


def saw_act(side: Side, act: Act, held: Held, result: str) -> None:
    """Have an effect done by an attempt whose lease stands."""
    key = intent_of(side, act, held).key
    side.witness.saw("acted", "SEND", key, side.ids[held[0]], held[1], LIVE, canonical.decode(result))


def saw_look(side: Side, act: Act, held: Held, result: str | None) -> None:
    known = None if result is None else canonical.decode(result)
    side.witness.saw("looked", intent_of(side, act, held).key, side.ids[held[0]], held[1], known)


def record(side: Side, act: Act, held: Held, result: str | None, failure: str | None) -> bool:
    intent = intent_of(side, act, held)
    made = effect.done(intent, result) if result is not None else effect.failed(intent, failure or "{}")
    return bool(side.store.effects.enter([], [made]))


def answer(side: Side, name: Name, epoch: int, act: Act, held: Held, result: str | None) -> str | None:
    """Have a person answer what came of an effect; return why that was refused."""
    key = intent_of(side, act, held).key
    try:
        side.store.deadletters.answer(side.letter_id(name, epoch), key, "ada", result)
    except LeaseholdError as error:
        return error.code
    side.witness.saw("answered", key, result)
    return None


def take(side: Side) -> dict[str, tuple[int, int, str]]:
    """Claim messages and begin to send them, as a relay does."""
    found = side.store.deliveries.claim(PROVIDER, DELIVERY_SECONDS, 100, worker=RELAY)
    begun = side.store.deliveries.begin([one for one in found if not one.may_be_sent], RELAY)
    taken = [one for one in found if one.may_be_sent] + begun
    side.taken.update({(one.subject, one.fence): one for one in taken})
    return {one.subject: (one.fence, one.attempts, one.was) for one in taken}


def claim_messages(side: Side) -> dict[str, tuple[int, int, str]]:
    """Claim messages and begin none."""
    found = side.store.deliveries.claim(PROVIDER, DELIVERY_SECONDS, 100, worker=RELAY)
    return {one.subject: (one.fence, one.attempts, one.was) for one in found}


def give_back(side: Side) -> int:
    """Have the relay found gone."""
    return side.store.workers.reclaim_deliveries(RELAY)


def mark_of(taken: ClaimedDelivery, how: str) -> DeliveryMark:
    """Choose what is written of a message, as a courier would."""
    match how:
        case "sent" | "found":
            return outbox.sent(taken, _id_of(taken))
        case "refused":
            return outbox.refused(taken, Failure("DELIVERY_REFUSED", "no such recipient"))
        case "not sent":
            return outbox.not_sent(taken, Failure("DELIVERY_NOT_SENT", "try again", retryable=True), POLICY)
        case "unknown":
            return outbox.still_unknown(taken, Failure("DELIVERY_IN_DOUBT", "nobody knows"))
        case "maybe":
            return outbox.may_be_sent(taken, Failure("DELIVERY_MAY_BE_SENT", "the line was cut"))
    return outbox.released(taken)


def _id_of(taken: ClaimedDelivery) -> str:
    return f"id-{taken.to_send.token[:8]}"


def carry(side: Side, held: tuple[str, int], how: str, *, sends: bool, marks: bool) -> tuple[DeliveryMark, bool]:
    """Have a message taken by its provider, or not, and marked, or not; return the mark and whether it landed."""
    taken = side.taken[held]
    mark = mark_of(taken, how)
    if sends:
        side.witness.saw("sent", taken.to_send.token, taken.fence, LIVE, _id_of(taken))
    elif taken.may_be_sent:
        side.witness.saw("traced", taken.to_send.token, taken.fence, _id_of(taken) if how == "found" else None)
    return mark, marks and side.store.deliveries.mark(mark)


def answer_message(side: Side, subject: str, *, sent: bool) -> str | None:
    """Have a person answer whether a message was sent; return why that was refused."""
    (found,) = side.store.deliveries.list(subject=subject)
    known = f"id-{found.to_send.token[:8]}" if sent else None
    try:
        side.store.deliveries.answer(found.id, DeliveryAnswer(sent, known, "ada", "asked"))
    except LeaseholdError as error:
        return error.code
    return None
