"""The world of a simulation: who runs next, what time it is and what goes wrong, all drawn from one seed.

Actors are greenlets; they yield at points (before a transaction, within one, after its COMMIT, before and after an act
on the outside world) and nowhere else. Every choice belongs to one actor and one of its points or turns and is named by
name, so a run is repeated exactly from the choices that were not the usual ones, and one that is left out does not
change what the others mean.

`uptime` is the machine's, which all processes share. Each process has a wall clock of its own, which may be wrong and
may jump both ways. `now` is the time that the database has to return, by which leases are measured.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn

import greenlet

from tests.simulation.shrink import Choices

SECOND = 1_000_000
TICK = 1_000
START = 1_800_000_000 * SECOND
STEPS_MAX = 20_000
NEVER = sys.maxsize
SWITCHES = 0.35


class Killed(BaseException):
    """The process of the actor that gets this is gone; nothing it does from here on counts."""


class Stuck(Exception):
    """Nothing can run, or nothing comes to an end."""


class Fault(StrEnum):
    """What can go wrong at a point, with a clock, or with a wake-up."""

    NONE = "none"
    CRASH = "crash"
    BUSY = "busy"
    SERIALIZATION = "40001"
    DEADLOCK = "40P01"
    READ_ONLY = "25006"
    LOST = "connection lost"
    SLOW = "slow call"
    PAUSE = "process paused"
    ASLEEP = "machine asleep"
    JUMP = "clock jump"
    WRONG = "clock wrong"
    UNHEARD = "wake-up lost"
    TWICE = "wake-up twice"


ERRORS = (Fault.BUSY, Fault.SERIALIZATION, Fault.DEADLOCK, Fault.READ_ONLY, Fault.LOST)
TIMES = (Fault.SLOW, Fault.PAUSE, Fault.ASLEEP, Fault.JUMP)
FAULTS = {
    "begin": (Fault.CRASH, *ERRORS, *TIMES),
    "within": (Fault.CRASH, *ERRORS, Fault.PAUSE),
    "answer": (Fault.CRASH, Fault.LOST, *TIMES),  # LOST here: the COMMIT is done and its answer never comes
    "act": (Fault.CRASH, *TIMES),
}
POST = (Fault.SLOW, Fault.PAUSE)  # in every world, and often: a relay's claims are long, and few
POST_CHANCE = 0.35
SPAN, POST_SPAN = "2", "130"
SPANS = ("20", "31", "45", "95", "130")  # the last is longer than a relay's claim
HOUR = "3600"
OFFSETS = ("-3600", "-90", "0", "90")  # seconds; where a clock jumps to if not an hour ahead
WRONGS = ("-3600", "-90", "90", HOUR)
WRONG = 0.3
HINTS = (Fault.UNHEARD, Fault.TWICE)
UNHEARD = 0.25

# What goes wrong in one world: everything a little, or some things often. Wake-ups are never reliable.
TEMPERS: dict[str, frozenset[Fault]] = {
    "everything": frozenset(Fault),
    "deaths": frozenset({Fault.CRASH}),
    "zombies": frozenset({Fault.PAUSE, Fault.SLOW}),
    "doubts": frozenset({Fault.LOST, Fault.CRASH}),
    "errors": frozenset(ERRORS),
    "jumps": frozenset({Fault.JUMP, Fault.WRONG, Fault.ASLEEP, Fault.PAUSE, Fault.CRASH}),
}


@dataclass(eq=False)
class Process:
    """A virtual process: its actors live and die together. `ahead`: how far its wall clock is, once it was read."""

    name: str
    frozen_until: int = 0
    is_dead: bool = False
    actors: list[Actor] = field(default_factory=list)
    on_death: Callable[[], None] = lambda: None
    ahead: int | None = None


class Actor:
    """One thread of a virtual process. `label` names it in its world, `part` what it does in any of them.

    Points, turns and hints are counted.
    """

    def __init__(self, process: Process, name: str, label: str, function: Callable[[], object]) -> None:
        self.process = process
        self.name = name
        self.label = label
        self.part = process.name.rstrip("0123456789") + name.partition(" ")[0]
        self.points = self.turns = self.hints = 0
        self.wake_at = 0
        self.is_slow = False
        self.until: Callable[[], bool] | None = None
        self.is_over = False
        self.greenlet: greenlet.greenlet | None = None  # until it begins
        self._function = function

    def begin(self) -> greenlet.greenlet:
        """Get a place to live on."""
        place = _vacant.pop() if _vacant else Place()
        place.actor = self
        self.greenlet = place.greenlet
        return place.greenlet

    def live(self) -> None:
        """Do what it is for, to its end or its death."""
        try:
            self._function()
        except BaseException:
            if not self.process.is_dead:  # what a dead process runs into while it is taken apart is nothing
                raise
        finally:
            self.is_over = True


class Place:
    """A greenlet that one actor lives on after another, in any world: a new one would need a stack of its own."""

    def __init__(self) -> None:
        self.actor: Actor | None = None
        self.greenlet = greenlet.greenlet(self._house)

    def _house(self) -> None:
        while self.actor is not None:
            self.actor.live()  # what it raises ends this place, and is raised in the caller
            self.actor = None
            _vacant.append(self)
            assert self.greenlet.parent is not None
            self.greenlet.parent.switch()


_vacant: list[Place] = []


class World:
    """Runs actors until a goal is reached. Faults come only while `faults` is above zero: that is their chance."""

    def __init__(self, choices: Choices, *, faults: float, temper: str, crashes: Collection[int] = ()) -> None:
        self.choices = choices
        self._crashes = crashes
        self.faults = faults
        self._temper = TEMPERS[temper]
        self._options = {kind: [one for one in found if one in self._temper] for kind, found in FAULTS.items()}
        self._options["post"] = list(POST)
        self.uptime = START
        self.lead: int | None = None  # how far the database's clock is ahead, once somebody has written
        self.lead_next = 0  # and how far it will be when the actor that writes, or wrote last, has committed
        self.steps = 0
        self.actors: list[Actor] = []
        self.trace: list[tuple[int, str, str]] = []
        self.story: list[tuple[int, str, list[str]]] | None = None  # every turn and what was done in it, if wanted
        self.wrongs: list[str] = []  # what the world itself found wrong
        self.counts: dict[str, int] = {}
        self._labels: dict[str, int] = {}
        self._last: tuple[int, str] = (0, "nobody")
        self.current: Actor | None = None  # nobody: what happens now happens outside the world
        self._hub: Any = None

    def spawn(self, process: Process, name: str, function: Callable[[], object]) -> Actor:
        """Start an actor of a process; it first runs when it is chosen."""
        label = f"{process.name}.{name}"
        count = self._labels[label] = self._labels.get(label, 0) + 1
        actor = Actor(process, name, label if count == 1 else f"{label} ({count})", function)
        process.actors.append(actor)
        self.actors.append(actor)
        return actor

    @property
    def now(self) -> int:
        """The time that the database has to return: the furthest of the clocks of all who have written."""
        lead = self.lead or 0
        return self.uptime + (lead if self.faults > 0 else max(lead, self.lead_next, 0))

    @property
    def running(self) -> Actor:
        """The actor that is running."""
        assert self.current is not None
        return self.current

    # What actors call.

    def at(self, kind: str, what: str) -> Fault:
        """Pass a point: time goes by, something may go wrong, others may run. Returns an error to be raised."""
        actor = self._running()
        self.steps += 1
        self.uptime += TICK
        actor.points += 1
        if self.story is not None:
            self._add_to_story(f"{kind}: {what}")
        if self.steps > STEPS_MAX:
            raise Stuck(f"no end after {STEPS_MAX:,} steps")
        if self.steps in self._crashes:
            self._crash(actor, kind, what)
        fault = self._strike(actor, kind, what) if self.faults > 0 else Fault.NONE
        if self.choices.choose("yield", actor.points, actor.label, ("yes",), SWITCHES):
            self._add_to_story("->")
            self._yield(actor)
        return fault

    def sleep(self, seconds: float) -> None:
        """Let time pass for this actor."""
        actor = self._running()
        actor.wake_at = self.uptime + round(seconds * SECOND)
        self._yield(actor)

    def wait(self, until: Callable[[], bool], seconds: float | None = None) -> None:
        """Let others run until something has happened, or so long."""
        actor = self._running()
        actor.wake_at = NEVER if seconds is None else self.uptime + round(seconds * SECOND)
        actor.until = until
        self._yield(actor)
        actor.until, actor.wake_at = None, 0

    def hint(self) -> int:
        """Return how often a wake-up that is sent now arrives."""
        actor = self._running()
        actor.hints += 1
        chance = UNHEARD if self.faults > 0 else 0.0
        fault = self.choices.choose("wake", actor.hints, actor.label, HINTS, chance)
        if not fault:
            return 1
        self._note(actor, Fault(fault), "one of its wake-ups")
        return 0 if fault == Fault.UNHEARD else 2

    def wall(self, process: Process) -> int:
        """Read a process's own clock. After the storm all of them are right."""
        if process.ahead is None:
            process.ahead = self._first_offset(self._running())
        return self.uptime + (process.ahead if self.faults > 0 else 0)

    def calm(self) -> None:
        """Let nothing go wrong any more: no faults, clocks that are right, and nobody held up."""
        self.faults = 0.0
        for actor in self.actors:
            actor.process.frozen_until = 0
            if actor.is_slow:
                actor.wake_at = 0

    def kill(self, process: Process) -> None:
        """End a process at once, wherever its actors are."""
        if process.is_dead:
            return
        process.is_dead = True
        for actor in process.actors:
            self.actors.remove(actor)
            if actor is not self.current and actor.greenlet is not None and not actor.is_over:
                actor.greenlet.parent = greenlet.getcurrent()
                actor.greenlet.throw(Killed)
        process.on_death()

    def _add_to_story(self, what: str) -> None:
        """Add to the story of this turn, if anybody wants to hear it."""
        if self.story:
            self.story[-1][2].append(what)

    def _running(self) -> Actor:
        actor = self.current
        assert actor is not None, "a point was passed outside the world"
        if actor.process.is_dead or actor.greenlet is not greenlet.getcurrent():
            raise Killed
        return actor

    def _yield(self, actor: Actor) -> None:
        self._hub.switch()
        if actor.process.is_dead:
            raise Killed

    def _strike(self, actor: Actor, kind: str, what: str) -> Fault:
        chance = POST_CHANCE if kind == "post" else self.faults
        chosen = self.choices.choose("fault", actor.points, actor.label, self._options[kind], chance)
        if not chosen:
            return Fault.NONE
        fault = Fault(chosen)
        if fault is Fault.CRASH:
            self._crash(actor, kind, what)
        if fault is Fault.JUMP:
            self._jump(actor)
            return Fault.NONE
        self._note(actor, fault, f"{kind} of {what}")
        if fault in TIMES:
            self._lose_time(actor, fault, POST_SPAN if kind == "post" else SPAN)
            return Fault.NONE
        return fault

    def _crash(self, actor: Actor, kind: str, what: str) -> NoReturn:
        self._note(actor, Fault.CRASH, f"{kind} of {what}")
        self.kill(actor.process)
        raise Killed

    def _note(self, actor: Actor, fault: Fault, where: str) -> None:
        self.counts[fault] = self.counts.get(fault, 0) + 1
        self.trace.append((self.uptime, actor.label, f"{fault} at {where}"))
        self._add_to_story(f"!! {fault}")

    def _lose_time(self, actor: Actor, fault: Fault, usual: str) -> None:
        span = int(self.choices.choose("span", actor.points, actor.label, SPANS, 0.7) or usual) * SECOND
        self._add_to_story(f"{span // SECOND} s")
        if fault is Fault.ASLEEP:
            self.uptime += span
        elif fault is Fault.PAUSE:
            actor.process.frozen_until = self.uptime + span
            self._yield(actor)
        else:
            actor.wake_at, actor.is_slow = self.uptime + span, True
            self._yield(actor)
            actor.is_slow = False

    def _jump(self, actor: Actor) -> None:
        found = self.choices.choose("offset", actor.points, actor.label, OFFSETS, 0.7) or HOUR
        actor.process.ahead = int(found) * SECOND
        self._note(actor, Fault.JUMP, f"{actor.process.name}, to {found} s from the right time")

    def _first_offset(self, actor: Actor) -> int:
        if Fault.WRONG not in self._temper or self.faults == 0:
            return 0
        found = self.choices.choose("clock", 0, actor.label, WRONGS, WRONG)
        if found:
            self._note(actor, Fault.WRONG, f"{actor.process.name}, by {found} s")
        return int(found or 0) * SECOND

    # What drives it.

    def run(self, is_over: Callable[[], bool]) -> None:
        """Run actors until `is_over`, which is asked whenever none of them can go on at this moment."""
        self._hub = greenlet.getcurrent()
        while True:
            now = self.uptime
            ready = [
                actor
                for actor in self.actors
                if actor.process.frozen_until <= now
                and (actor.wake_at <= now or ((until := actor.until) is not None and until()))
            ]
            if not ready:
                if is_over():
                    return
                self._let_time_pass()
                continue
            actor = self.choices.pick(*self._last, ready)
            if len(ready) > 1:  # the actor that has run is last in line, so that the usual course is fair
                self.actors.remove(actor)
                self.actors.append(actor)
            self._resume(actor)

    def _let_time_pass(self) -> None:
        times = [max(actor.wake_at, actor.process.frozen_until) for actor in self.actors if actor.wake_at < NEVER]
        times += [actor.process.frozen_until for actor in self.actors if actor.until is not None]
        later = [at for at in times if at > self.uptime]
        if not later:
            raise Stuck("nobody can run, and no time will change that")
        self.uptime = min(later)

    def _resume(self, actor: Actor) -> None:
        self.current = actor
        actor.turns += 1
        self._last = (actor.turns, actor.label)
        if self.story is not None:
            self.story.append((self.uptime, actor.label, []))
        place = actor.greenlet or actor.begin()
        place.parent = self._hub
        try:
            place.switch()
        finally:
            self.current = None
        if actor.is_over and actor in self.actors:
            self.actors.remove(actor)
            actor.process.actors.remove(actor)

    def stop(self) -> None:
        """End every process, so that nothing is left half done."""
        for process in dict.fromkeys(actor.process for actor in self.actors):
            self.kill(process)
