"""What the oracle asks about what attempts change in addition to their task: machines, budgets (S9), linked jobs.

Every move is along an arrow, made once, and leads to where the job stands. Accepted debits never pass a budget and are
paid once. A linked job is made once, and none is left alone by a cancel of its parent.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tests.support.oracle.evidence import Event, Evidence

Thing = tuple[int, str]
Lane = tuple[int, str]  # the job at the root, and the name of a budget


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


class Link(NamedTuple):
    """How a job is linked: the job at the root, the task that submitted it, and under which key."""

    root: int
    parent: int
    name: str


class Tree:
    """The jobs of one run as they are linked."""

    def __init__(self, evidence: Evidence) -> None:
        self._tasks = evidence.tasks
        rows = evidence.look("SELECT job_id, root_id, parent_id, name FROM link")
        self.links = {row[0]: Link(*row[1:]) for row in rows}

    def root_of(self, task: int) -> int:
        """Follow the links from a task to the job at the root."""
        return self._above(task)[-1]

    def is_below(self, task: int, job: int) -> bool:
        """Whether a task belongs to a job, or to one that was submitted below it."""
        return job in self._above(task)

    def _above(self, task: int) -> list[int]:
        jobs = [self._job_of(task)]
        while jobs[-1] in self.links:
            jobs.append(self._job_of(self.links[jobs[-1]].parent))
        return jobs

    def _job_of(self, task: int) -> int:
        return self._tasks[task].job if task in self._tasks else task


def _named(evidence: Evidence, *names: str) -> list[Event]:
    """Return the events with these names, in order."""
    found = [event for events in evidence.events.values() for event in events if event.name in names]
    return sorted(found, key=lambda event: event.id)


def s9_budgets(evidence: Evidence) -> Iterator[str]:
    """Accepted debits never pass a budget; each is on the ledger and in the journal once, under a lease that stood."""
    limits = {row[:2]: row[2:] for row in evidence.look("SELECT job_id, name, most, spent FROM budget")}
    tree = Tree(evidence)
    debits: dict[Lane, list[Event]] = defaultdict(list)
    for event in _named(evidence, "spent", "refused"):
        lane = tree.root_of(event.task), str(event.fields["name"])
        if lane not in limits:
            yield f"event {event.id} ({event.name}) is about {lane}, which has no budget"
        elif event.name == "refused" and event.fields["amount"] <= event.fields["left"]:
            yield f"event {event.id} refused {event.fields['amount']}, and {event.fields['left']} were left"
        elif event.name == "spent":
            debits[lane].append(event)
    for lane, (most, spent) in limits.items():
        yield from _passed(lane, most, spent, debits[lane])
    yield from _unpaid(evidence)
    for seen in evidence.seen:
        if seen.what == "debited" and (str(seen.fence) != seen.was or (seen.expires_at or 0) <= (seen.at or 0)):
            yield f"task {seen.task} was debited under attempt {seen.was}, whose lease did not stand"


def _passed(lane: Lane, most: int, spent: int, debits: list[Event]) -> Iterator[str]:
    """Follow the debits of one budget in the order in which they were answered."""
    if spent > most or spent != sum(event.fields["amount"] for event in debits):
        amounts = [event.fields["amount"] for event in debits]
        yield f"of {lane} {spent} are spent, the limit is {most}, and the debits are {amounts}"
    left = most
    for event in sorted(debits, key=lambda one: (-one.fields["left"], one.id)):
        left -= event.fields["amount"]
        if event.fields["left"] != left:
            yield f"event {event.id} left {event.fields['left']} of {lane}; it must be {left}"
            return


def _unpaid(evidence: Evidence) -> Iterator[str]:
    """What a handler paid is on the ledger, once, however many attempts asked for it."""
    rows = evidence.look("SELECT job_id, key, task_id, name, amount, remaining FROM spend")
    paid = Counter((task, name, amount) for _, _, task, name, amount, _ in rows)
    written = Counter((event.task, event.fields["name"], event.fields["amount"]) for event in _named(evidence, "spent"))
    if paid != written:
        yield f"the ledger has {paid - written} that the journal has not, and lacks {written - paid}"
    asked: Counter[tuple[int, str, int]] = Counter()
    for (task, _, name, amount), count in Counter(line[:4] for line in evidence.witnessed("paid")).items():
        asked[task, name, amount] = max(count, asked[task, name, amount])
    for (task, name, amount), count in asked.items():
        is_done = task in evidence.current and evidence.current[task].status == "DONE"
        found = written[task, name, amount]
        if task in evidence.tasks and (found < count or (is_done and found != count)):
            yield f"task {task} paid {count} times {amount} {name}, and {found} are on record"


def links(evidence: Evidence) -> Iterator[str]:
    """Every linked job was made once, by the event of a task that was not asked to stop, and stands under its root."""
    tree = Tree(evidence)
    made = Counter(int(event.fields["child"]) for event in _named(evidence, "linked"))
    for child, link in tree.links.items():
        if made.pop(child, 0) != 1 or child not in evidence.tasks or evidence.tasks[child].parent is not None:
            yield f"job {child} is linked to task {link.parent}, whose journal or facts do not match"
        if tree.root_of(link.parent) != link.root:
            yield f"job {child} is linked under {link.root}; its parent is under {tree.root_of(link.parent)}"
    if made:
        yield f"jobs {sorted(made)} were linked and are not"
    yield from _made_wrongly(evidence, tree)
    for job, position in evidence.witnessed("reached"):
        yield from _left_alone(evidence, tree, job, position)


def _made_wrongly(evidence: Evidence, tree: Tree) -> Iterator[str]:
    """No key has two jobs, and nothing is made after a task was asked to stop."""
    for (task, name), count in Counter((link.parent, link.name) for link in tree.links.values()).items():
        if count > 1:
            yield f"task {task} has made {count} jobs under the key {name!r}"
    for events in evidence.events.values():
        stopped = None
        for event in events:
            if event.name == "linked" and event.fence == stopped:
                yield f"task {event.task} was asked to stop, and then linked a job (event {event.id})"
            stopped = event.fence if event.name == "asked" else stopped


def _left_alone(evidence: Evidence, tree: Tree, job: int, position: int) -> Iterator[str]:
    """When a cancel was answered, every task of the tree had ended or been asked to stop, unless it was revived."""
    for task, facts in evidence.tasks.items():
        before = [event for event in evidence.events[task] if event.id <= position]
        is_stopped = any(event.ends or event.name in ("asked", "revived") for event in before)
        if before and not is_stopped and facts.epoch == 1 and tree.is_below(task, job):
            yield f"job {job} was cancelled, and task {task} of its tree was left alone"
