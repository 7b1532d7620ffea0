"""What the oracle asks about leases and attempts: S1, S2, S11, S12, and L1."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise, product

from tests.support.oracle.evidence import Event, Evidence

SECOND = 1_000_000
LOSSES = 20  # by default; no world here sets another
COUNTED = {"claimed": 1, "released": -1}
# How late, once faults have stopped and everybody is awake. What was committed long after it had begun is found when a
# sweep looks everywhere, at every tenth: in a simulation they are up to 5.5 s apart, and the first is waited for.
# Before a ready task there may be some others.
SWEEP_LATE = 60 * SECOND
CLAIM_LATE = 120 * SECOND
CLEAR_LATE = 30 * SECOND


def s1_fences(evidence: Evidence) -> Iterator[str]:
    """At most one live lease; the fence grows by one at each claim."""
    for task, events in evidence.events.items():
        fences = [event.fence for event in events if event.name == "claimed"]
        if fences != list(range(1, len(fences) + 1)):
            yield f"task {task} was claimed with fences {fences}"
        for _, fence, _ in evidence.places[task]:
            if fence != len(fences):
                yield f"task {task} stands with fence {fence} after {len(fences)} claims"
        yield from _overlaps(task, events)
    for (task, fence), count in Counter(line[:2] for line in evidence.witnessed("began")).items():
        if count > 1:
            yield f"attempt {fence} of task {task} began {count} times"


def _overlaps(task: int, events: list[Event]) -> Iterator[str]:
    held = False
    for event in events:
        if event.name == "claimed" and held:
            yield f"task {task} was claimed twice at event {event.id}"
        held = event.name == "claimed" or (held and not event.frees)


def s2_stale_writes(evidence: Evidence) -> Iterator[str]:
    """What lands under a lease is of the lease that stood, and what its handler returned."""
    for task, events in evidence.events.items():
        yield from _foreign_fences(task, events)
    yield from _outputs(evidence)
    yield from _late_ends(evidence)
    for seen in evidence.seen:
        if seen.what == "recorded" and not evidence.is_superseded(seen.task):
            named = f"effect {str(seen.key)[:8]} of task {seen.task}"
            if seen.fence is None:
                yield f"{named} was recorded under no lease"
            elif (seen.expires_at or 0) <= (seen.at or 0):
                yield f"{named} was recorded after attempt {seen.fence} had run out"


def _foreign_fences(task: int, events: list[Event]) -> Iterator[str]:
    fence = 0
    for event in events:
        if event.name == "claimed":
            fence = event.fence or 0
        elif event.fence is not None and event.name != "superseded" and event.fence != fence:
            yield f"event {event.id} ({event.name}) of task {task} names fence {event.fence}; {fence} stood"


def _outputs(evidence: Evidence) -> Iterator[str]:
    returned = {line[:2]: line[2] for line in evidence.witnessed("returned")}
    ran = {task for task, events in evidence.events.items() if any(one.name == "done" and one.fence for one in events)}
    for one in (one for rows in evidence.outcomes.values() for one in rows if one.status == "DONE" and one.task in ran):
        output = json.loads(one.output or "null")
        if (one.task, one.fence) not in returned:
            yield f"task {one.task} epoch {one.epoch} is DONE by attempt {one.fence}, which has not returned"
        elif output != returned[one.task, one.fence]:
            yield f"task {one.task} epoch {one.epoch}: the output is not what attempt {one.fence} returned"
        elif evidence.expected is not None and not one.is_past and one.task in evidence.tasks:
            wanted = evidence.expected(evidence, evidence.tasks[one.task], one.fence)
            if output != wanted:
                yield f"task {one.task}: the output is {output}; it must be {wanted}"


def _late_ends(evidence: Evidence) -> Iterator[str]:
    """A lease is settled before it has run out, and taken back as expired only after."""
    ended = {(seen.task, seen.fence): seen.expires_at or 0 for seen in evidence.seen if seen.what == "lease ended"}
    for task, events in evidence.events.items():
        for event in events:
            expires_at = ended.get((task, event.fence)) if event.frees else None
            if expires_at is None:
                continue
            if event.name == "reclaimed" and event.fields.get("why") == "expired" and event.at < expires_at:
                yield f"attempt {event.fence} of task {task} was taken back before it had run out"
            if event.name not in ("reclaimed", "released") and event.at >= expires_at:
                yield f"attempt {event.fence} of task {task} ended ({event.name}) after it had run out"


def s11_limits(evidence: Evidence) -> Iterator[str]:
    """Live leases of a limited queue never pass its limit."""
    for queue, limit in evidence.limits.items():
        members = {task for task, facts in evidence.tasks.items() if facts.queue == queue}
        events = sorted((event for task in members for event in evidence.events[task]), key=lambda one: one.id)
        held: set[int] = set()
        for event in events:
            if event.name == "claimed":
                held.add(event.task)
            elif event.frees:
                held.discard(event.task)
            if len(held) > limit:
                yield f"queue {queue} had {len(held)} leases at event {event.id}"
                break


def s12_attempts(evidence: Evidence) -> Iterator[str]:
    """Attempts are counted by claims, per epoch; a released one is not spent; losses are counted apart."""
    for task, facts in evidence.tasks.items():
        yield from _miscounted(task, evidence.events[task], facts.attempts_max)
        for event in evidence.events[task]:
            spent = facts.on_lost == "bury" or event.fields.get("losses", 0) >= LOSSES
            if event.name == "reclaimed" and event.status == "ERROR" and not spent:
                yield f"task {task} was given up after {event.fields.get('losses')} losses of {LOSSES}"
    began = {line[:2] for line in evidence.witnessed("began")}
    for task, events in evidence.events.items():
        for event in events:
            if event.fields.get("began") is False and (task, event.fence) in began:
                yield f"attempt {event.fence} of task {task} began, and its loss was not counted"
    yield from _miscleared(evidence)


def _miscleared(evidence: Evidence) -> Iterator[str]:
    """A loss is taken back once, of a worker that the convicted task lost too, and soon once nothing goes wrong."""
    lost: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    losses = "SELECT task_id, worker, fence, at, detail FROM event WHERE name = 'reclaimed'"
    for task, worker, fence, at, detail in evidence.look(losses):
        if "losses" in json.loads(detail):
            lost[task].append((worker, fence, at))
    for task, events in list(evidence.events.items()):
        cleared = Counter(one for event in events if event.name == "cleared" for one in event.fields["workers"])
        if cleared - Counter(worker for worker, _, _ in lost[task]):
            yield f"losses of task {task} were taken back twice"
        yield from _foreign_losses(task, events, lost)
    if evidence.calm_at is not None and not evidence.pruned:
        yield from _uncleared(evidence, lost, evidence.calm_at)


def _foreign_losses(task: int, events: list[Event], lost: Mapping[int, list[tuple[int, int, int]]]) -> Iterator[str]:
    first = 0
    for event in events:
        if event.name == "revived":
            first = event.fence or 0
        elif event.name == "cleared":
            own = {worker for worker, fence, _ in lost[task] if first < fence <= (event.fence or 0)}
            known = {worker for worker, _, _ in lost[event.fields["by"]]}
            if not own.intersection(known).issuperset(event.fields["workers"]):
                yield f"event {event.id} took back losses that task {task} did not have by {event.fields['by']}"


def _uncleared(evidence: Evidence, lost: Mapping[int, list[tuple[int, int, int]]], calm_at: int) -> Iterator[str]:
    verdicts = [
        (event.at, {worker for worker, _, _ in lost[task]}, task)
        for task, events in list(evidence.events.items())
        for event in events
        if event.name == "failed" and {"losses", "signal"} <= event.fields.get("context", {}).keys()
    ]
    for task, events in list(evidence.events.items()):
        cleared = {one for event in events if event.name == "cleared" for one in event.fields["workers"]}
        first = max((event.fence or 0 for event in events if event.name == "revived"), default=0)
        ended = max((event.at for event in events if event.ends), default=0)
        charged = [(worker, at) for worker, fence, at in lost[task] if fence > first and worker not in cleared]
        for (worker, since), (at, workers, by) in product(charged, verdicts):
            if by != task and worker in workers and ended - max(at, since, calm_at) > CLEAR_LATE:
                yield f"task {task} stayed charged for worker {worker}, which task {by} killed"


def _miscounted(task: int, events: list[Event], most: int) -> Iterator[str]:
    """Each claim is an attempt; a lost worker spends a loss, one that never began neither, and the rest failed."""
    count = losses = 0
    for event in events:
        count += COUNTED.get(event.name, 0)
        if event.name == "revived":
            count = losses = 0
        if event.name == "claimed" and event.attempt != count:
            yield f"task {task}: event {event.id} has attempt {event.attempt}, it is {count}"
        if event.name == "reclaimed" and event.fields.get("began") is False:
            count -= 1
        elif event.name == "cleared":
            count -= losses - event.fields["losses"]
            losses = event.fields["losses"]
        elif event.name == "reclaimed":
            losses += 1
            if event.fields.get("losses") != losses:
                yield f"task {task}: event {event.id} has {event.fields.get('losses')} losses, it is {losses}"
        if count - losses > most:
            yield f"task {task} has failed {count - losses} times of {most}"


def l1_liveness(evidence: Evidence) -> Iterator[str]:
    """Once faults stop, everything comes to an end, and nothing waits much longer than it must."""
    if not evidence.has_settled:
        return
    for task, standing in evidence.places.items():
        for place, _, _ in standing:
            if place != "outcome":
                yield f"task {task} still stands in {place}"
    for (task,) in evidence.look("SELECT task_id FROM unsettled"):
        yield f"nobody looked at the end of task {task}"
    for delivery, status in evidence.look("SELECT id, status FROM delivery WHERE status IN ('pending', 'sending')"):
        yield f"delivery {delivery} is still {status}"
    if evidence.calm_at is not None:
        yield from _idle_waits(evidence, evidence.calm_at)


def _idle_waits(evidence: Evidence, calm_at: int) -> Iterator[str]:
    ended = {(seen.task, seen.fence): seen.expires_at or 0 for seen in evidence.seen if seen.what == "lease ended"}
    for task, events in evidence.events.items():
        for event in events:
            late = event.at - max(calm_at, ended.get((task, event.fence), event.at))
            if event.name == "reclaimed" and event.fields.get("why") == "expired" and late > SWEEP_LATE:
                yield f"attempt {event.fence} of task {task} was taken back {late // SECOND} s after it had run out"
        if task in evidence.tasks and evidence.tasks[task].queue not in evidence.limits:
            yield from _unclaimed(task, events, calm_at)


def _unclaimed(task: int, events: list[Event], calm_at: int) -> Iterator[str]:
    losses = 0
    for before, event in pairwise(events):
        losses = 0 if before.name == "revived" else before.fields.get("losses", losses)
        is_back = before.name in ("reclaimed", "released") and not before.ends and not before.fields.get("delay_us")
        is_ready = before.name == "advanced" or is_back
        waited = event.at - max(calm_at, before.at)
        if is_ready and event.name == "claimed" and waited > CLAIM_LATE + 2 ** max(0, losses - 3) * SECOND:
            yield f"task {task} was ready for {waited // SECOND} s before event {event.id}"
