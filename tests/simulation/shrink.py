"""Choices: drawn from a seed, repeated from a script, and made fewer until only those are left that a failure needs.

Every choice belongs to one actor and to one of its points or turns. A script names the unusual ones, each in a line
such as `fault 3 of w0.claimer: crash`; whatever it does not name takes its usual course, and a line whose moment
never comes does nothing. So a line can be left out without changing what the others mean.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Protocol, TypeVar

PICKS = 0.7
TRIES_MAX = 1_500
SECONDS_MAX = 60.0
FEW_OF_MAX = 24
WORKER = re.compile(r"\bw(\d+)\.")
FENCE = re.compile(r"#\d+")

Key = tuple[str, int, str]
Run = Callable[[list[str]], "list[str] | None"]


class Labelled(Protocol):
    """The actors that can be chosen to run."""

    label: str


L = TypeVar("L", bound=Labelled)


class Choices:
    """Where choices come from: dice while exploring, a script when a run is repeated. What was unusual is kept."""

    def __init__(self, seed: int | None = None, script: Iterable[str] = ()) -> None:
        self._dice = None if seed is None else random.Random(seed)
        self._script = dict(map(_read, script))
        self._taken: dict[Key, str] = {}

    @property
    def taken(self) -> list[str]:
        """The unusual choices, in the order in which they were made."""
        return [f"{what} {number} of {who}: {value}" for (what, number, who), value in self._taken.items()]

    def choose(self, what: str, number: int, who: str, options: Sequence[str], harm: float) -> str:
        """Choose one of `options` with a chance of `harm`; else '', the usual course."""
        dice = self._dice
        if dice is None:
            found = self._script.get((what, number, who), "")
            if found not in options:
                return ""
        elif options and dice.random() < harm:
            found = options[int(dice.random() * len(options))]
        else:
            return ""
        self._taken[what, number, who] = found
        return found

    def pick(self, number: int, who: str, ready: Sequence[L]) -> L:
        """Choose who runs after somebody's turn: the first in line, or another."""
        first = ready[0]
        if len(ready) == 1:
            return first
        if self._dice is None:
            name = self._script.get(("next", number, who))
            found = first if name is None else next((one for one in ready if one.label == name), first)
        elif self._dice.random() < PICKS:
            found = ready[1 + int(self._dice.random() * (len(ready) - 1))]
        else:
            return first
        if found is not first:
            self._taken["next", number, who] = found.label
        return found


def _read(line: str) -> tuple[Key, str]:
    what, number, rest = line.split(" ", 2)
    who, _, value = rest.removeprefix("of ").rpartition(": ")
    return (what, int(number), who), value


def is_fault(line: str) -> bool:
    """Whether a choice is counted as a fault; the others are who runs, and how long or how far."""
    return line.startswith(("fault ", "wake ", "clock "))


def weigh(script: Sequence[str]) -> tuple[int, int]:
    """Rank a script: the fewer faults the better, then the fewer choices in all."""
    return sum(map(is_fault, script)), len(script)


def shrink(script: Sequence[str], run: Run, *, tries: int = TRIES_MAX, seconds: float = SECONDS_MAX) -> list[str]:
    """Return the lightest script found with which the run still fails; never a heavier one than it was given.

    `run` returns the choices that really came up if the run fails with a script, and None if it does not.
    """
    search = _Search(list(script), run, tries, time.monotonic() + seconds)
    before: list[str] = []
    while before != search.best and not search.is_spent:
        before = search.best
        search.keep_few()
        search.leave_out(is_fault)
        search.leave_out(lambda line: not is_fault(line))
        search.leave_out_two()
        search.put_earlier()
    return search.best


def _earlier(script: list[str]) -> Iterator[list[str]]:
    workers = sorted({int(number) for line in script for number in WORKER.findall(line)})
    for late in reversed(workers):
        for early in range(late):
            between = {f"w{number}." for number in range(early, late)}
            kept = [line for line in script if not any(name in line for name in between)]
            moved = [line.replace(f"w{late}.", f"w{early}.") for line in kept]
            yield moved
            yield [FENCE.sub("#1", line) for line in moved]


class _Search:
    def __init__(self, best: list[str], run: Run, tries: int, over: float) -> None:
        self.best = best
        self._run = run
        self._tries = tries
        self._over = over
        self._seen: set[tuple[str, ...]] = set()

    @property
    def is_spent(self) -> bool:
        return self._tries <= 0 or time.monotonic() > self._over

    def leave_out(self, of_sort: Callable[[str], bool]) -> None:
        """Leave out lines of one sort: all of them, then ever smaller pieces."""
        size = len(list(filter(of_sort, self.best)))
        while size >= 1 and not self.is_spent:
            start = 0
            while start < len(lines := list(filter(of_sort, self.best))) and not self.is_spent:
                piece = set(lines[start : start + size])
                if not self._try([line for line in self.best if line not in piece]):
                    start += size
            size //= 2

    def keep_few(self) -> None:
        """Keep but one fault, or two."""
        for few in self._few():
            if self.is_spent or self._try([line for line in self.best if line in few or not is_fault(line)]):
                return

    def leave_out_two(self) -> None:
        """Leave out two faults at once, where neither can be left out alone."""
        for few in self._few():
            if self.is_spent or self._try([line for line in self.best if line not in few]):
                return

    def _few(self) -> list[tuple[str, ...]]:
        faults = list(filter(is_fault, self.best))[:FEW_OF_MAX]
        return [few for size in (1, 2) for few in combinations(faults, size)]

    def put_earlier(self) -> None:
        """Have what happens to a late worker happen to an earlier one, and drop what happened to those between."""
        for script in _earlier(self.best):
            if self.is_spent or self._try(script):
                return

    def _try(self, script: list[str]) -> bool:
        """Take a script for the best if it fails too and is lighter."""
        if tuple(script) in self._seen:
            return False
        self._seen.add(tuple(script))
        self._tries -= 1
        found = self._run(script)
        if found is None or weigh(found) >= weigh(self.best):
            return False
        self.best = found
        return True
