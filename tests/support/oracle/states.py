"""What the oracle asks about machines: every move is along an arrow, made once, and leads to where the job stands."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.support.oracle.evidence import Evidence

Thing = tuple[int, str]


def moves(evidence: Evidence) -> Iterator[str]:
    """A job's moves follow one another along arrows; no attempt repeats what an earlier one of its task has made."""
    arrows = {row[1:] for row in evidence.look("SELECT machine, source, target FROM arrow")}
    balance: dict[Thing, Counter[str]] = defaultdict(Counter)
    for task, events in evidence.events.items():
        job = evidence.tasks[task].job if task in evidence.tasks else task
        for event in (one for one in events if one.name == "moved"):
            source, target = str(event.fields["from"]), str(event.fields["to"])
            if (source, target) not in arrows:
                yield f"task {task} moved from {source} to {target}, where no arrow leads (event {event.id})"
            balance[job, str(event.fields.get("of", ""))].update({source: 1, target: -1})
    yield from _broken(balance)
    yield from _elsewhere(evidence, balance)
    yield from _unmade(evidence)


def _broken(balance: dict[Thing, Counter[str]]) -> Iterator[str]:
    for (job, subject), counts in balance.items():
        if sorted(count for count in counts.values() if count) not in ([], [-1, 1]):
            yield f"the moves of {job} {subject!r} do not follow one another"


def _elsewhere(evidence: Evidence, balance: dict[Thing, Counter[str]]) -> Iterator[str]:
    states = {row[:2]: row[2] for row in evidence.look("SELECT job_id, subject, name FROM state")}
    for thing in {*states, *(thing for thing in balance if thing[0] in evidence.tasks)}:
        last = [state for state, count in balance[thing].items() if count < 0] or list(balance[thing])
        if states.get(thing) not in last:
            yield f"{thing} stands in {states.get(thing)}; its moves lead to {last}"


def _unmade(evidence: Evidence) -> Iterator[str]:
    """Every move that was confirmed to a handler is on record, by this attempt or an earlier one."""
    made = Counter(
        (event.task, str(event.fields["to"]))
        for events in evidence.events.values()
        for event in events
        if event.name == "moved" and "of" not in event.fields
    )
    asked: dict[tuple[int, str], int] = {}
    for (task, _, state), count in Counter(evidence.witnessed("advanced")).items():
        asked[task, state] = max(count, asked.get((task, state), 0))
    for (task, state), count in asked.items():
        if task in evidence.tasks and made[task, state] != count:
            yield f"task {task} saw {count} moves to {state}, and {made[task, state]} are on record"
