"""The world of a simulation: who runs next, what time it is and what goes wrong, all drawn from one seed.

Actors are greenlets; they yield at points (before a transaction, within one, after its COMMIT, before and after an act
on the outside world) and nowhere else. Every choice is one number of a list: `0` lets the actor go on unharmed. A run
is repeated exactly from its list, and a shorter list is a simpler run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn

import greenlet

SECOND = 1_000_000
TICK = 1_000
START = 1_800_000_000 * SECOND
STEPS_MAX = 20_000


class Killed(BaseException):
    """The process of the actor that gets this is gone; nothing it does from here on counts."""


class Stuck(Exception):
    """Nothing can run, or nothing comes to an end."""


class Fault(StrEnum):
    """What can go wrong at a point."""

    NONE = "none"
    CRASH = "crash"
    BUSY = "busy"
    SERIALIZATION = "40001"
    DEADLOCK = "40P01"
    READ_ONLY = "25006"
    LOST = "connection lost"
    SLOW = "slow call"
    PAUSE = "process paused"
    JUMP = "clock jump"


ERRORS = (Fault.BUSY, Fault.SERIALIZATION, Fault.DEADLOCK, Fault.READ_ONLY, Fault.LOST)
TIMES = (Fault.SLOW, Fault.PAUSE, Fault.JUMP)
FAULTS = {
    "begin": (Fault.CRASH, *ERRORS, *TIMES),
    "within": (Fault.CRASH, *ERRORS, Fault.PAUSE),
    "answer": (Fault.CRASH, Fault.LOST, *TIMES),  # LOST here: the COMMIT is done and its answer never comes
    "act": (Fault.CRASH, *TIMES),
}
SPANS = (2, 20, 31, 45, 95)

# What goes wrong in one world: everything a little, or some things often.
TEMPERS: dict[str, frozenset[Fault]] = {
    "everything": frozenset(Fault),
    "deaths": frozenset({Fault.CRASH}),
    "zombies": frozenset({Fault.PAUSE, Fault.SLOW}),
    "doubts": frozenset({Fault.LOST, Fault.CRASH}),
    "errors": frozenset(ERRORS),
    "jumps": frozenset({Fault.JUMP, Fault.PAUSE, Fault.CRASH}),
}


class Choices:
    """Where the numbers come from: dice while exploring, a list when a run is repeated. What was taken is kept."""

    def __init__(self, seed: int | None = None, script: Sequence[int] = ()) -> None:
        self._dice = None if seed is None else random.Random(seed)
        self._script = script
        self.taken: list[int] = []

    def draw(self, options: int, harm: float) -> int:
        """Choose one of `options`; the first unless, with a chance of `harm`, another."""
        if self._dice is None:
            found = self._script[len(self.taken)] if len(self.taken) < len(self._script) else 0
            found = found % options
        elif options > 1 and self._dice.random() < harm:
            found = self._dice.randrange(1, options)
        else:
            found = 0
        self.taken.append(found)
        return found


@dataclass(eq=False)
class Process:
    """A virtual process: its actors live and die together."""

    name: str
    frozen_until: int = 0
    is_dead: bool = False
    actors: list[Actor] = field(default_factory=list)
    on_death: Callable[[], None] = lambda: None


class Actor:
    """One thread of a virtual process."""

    def __init__(self, process: Process, name: str, function: Callable[[], object]) -> None:
        self.process = process
        self.name = name
        self.wake_at = 0
        self.until: Callable[[], bool] | None = None
        self.greenlet = greenlet.greenlet(lambda: self._live(function))

    def _live(self, function: Callable[[], object]) -> None:
        try:
            function()
        except BaseException:
            if not self.process.is_dead:  # what a dead process runs into while it is taken apart is nothing
                raise

    @property
    def label(self) -> str:
        return f"{self.process.name}.{self.name}"


class World:
    """Runs actors until a goal is reached. Faults come only while `faults` is above zero: that is their chance."""

    def __init__(
        self, choices: Choices, *, faults: float, temper: str, crashes: Collection[int] = (), switches: float = 0.35
    ) -> None:
        self.choices = choices
        self._crashes = crashes
        self.faults = faults
        self._options = {kind: [one for one in found if one in TEMPERS[temper]] for kind, found in FAULTS.items()}
        self.switches = switches
        self.now = START
        self.steps = 0
        self.actors: list[Actor] = []
        self.trace: list[tuple[int, str, str]] = []
        self.counts: dict[str, int] = {}
        self._current: Actor | None = None
        self._hub: Any = None

    def spawn(self, process: Process, name: str, function: Callable[[], object]) -> Actor:
        """Start an actor of a process; it first runs when it is chosen."""
        actor = Actor(process, name, function)
        process.actors.append(actor)
        self.actors.append(actor)
        return actor

    @property
    def is_idle(self) -> bool:
        """Whether no actor is running: what happens now happens outside the world."""
        return self._current is None

    @property
    def running(self) -> Actor:
        """The actor that is running."""
        assert self._current is not None
        return self._current

    # What actors call.

    def at(self, kind: str, what: str) -> Fault:
        """Pass a point: time goes by, something may go wrong, others may run. Returns an error to be raised."""
        actor = self._running()
        self.steps += 1
        self.now += TICK
        if self.steps > STEPS_MAX:
            raise Stuck(f"no end after {STEPS_MAX:,} steps")
        if self.steps in self._crashes:
            self._crash(actor, kind, what)
        fault = self._strike(actor, kind, what) if self.faults > 0 else Fault.NONE
        if self.choices.draw(2, self.switches):
            self._yield(actor)
        return fault

    def sleep(self, seconds: float) -> None:
        """Let time pass for this actor."""
        actor = self._running()
        actor.wake_at = self.now + round(seconds * SECOND)
        self._yield(actor)

    def wait(self, until: Callable[[], bool]) -> None:
        """Let others run until something has happened."""
        actor = self._running()
        actor.until = until
        self._yield(actor)
        actor.until = None

    def kill(self, process: Process) -> None:
        """End a process at once, wherever its actors are."""
        if process.is_dead:
            return
        process.is_dead = True
        for actor in process.actors:
            self.actors.remove(actor)
            if actor is not self._current and actor.greenlet:  # one that has begun and not ended
                actor.greenlet.parent = greenlet.getcurrent()
                actor.greenlet.throw(Killed)
        process.on_death()

    def _running(self) -> Actor:
        actor = self._current
        assert actor is not None, "a point was passed outside the world"
        if actor.process.is_dead or actor.greenlet is not greenlet.getcurrent():
            raise Killed
        return actor

    def _yield(self, actor: Actor) -> None:
        self._hub.switch()
        if actor.process.is_dead:
            raise Killed

    def _strike(self, actor: Actor, kind: str, what: str) -> Fault:
        options = self._options[kind]
        chosen = self.choices.draw(len(options) + 1, self.faults)
        if chosen == 0:
            return Fault.NONE
        fault = options[chosen - 1]
        if fault is Fault.CRASH:
            self._crash(actor, kind, what)
        self._note(actor, fault, kind, what)
        if fault in TIMES:
            self._lose_time(actor, fault)
            return Fault.NONE
        return fault

    def _crash(self, actor: Actor, kind: str, what: str) -> NoReturn:
        self._note(actor, Fault.CRASH, kind, what)
        self.kill(actor.process)
        raise Killed

    def _note(self, actor: Actor, fault: Fault, kind: str, what: str) -> None:
        self.counts[fault] = self.counts.get(fault, 0) + 1
        self.trace.append((self.now, actor.label, f"{fault} at {kind} of {what}"))

    def _lose_time(self, actor: Actor, fault: Fault) -> None:
        span = SPANS[self.choices.draw(len(SPANS), 0.8)] * SECOND
        if fault is Fault.JUMP:
            self.now += span
        elif fault is Fault.PAUSE:
            actor.process.frozen_until = self.now + span
            self._yield(actor)
        else:
            actor.wake_at = self.now + span
            self._yield(actor)

    # What drives it.

    def run(self, is_over: Callable[[], bool]) -> None:
        """Run actors until `is_over`, which is asked whenever none of them can go on at this moment."""
        self._hub = greenlet.getcurrent()
        while True:
            now = self.now
            ready = [
                actor
                for actor in self.actors
                if actor.process.frozen_until <= now
                and (actor.wake_at <= now if (until := actor.until) is None else until())
            ]
            if not ready:
                if is_over():
                    return
                self._let_time_pass()
                continue
            actor = ready[self.choices.draw(len(ready), 0.7)]
            if len(ready) > 1:  # whoever has run is last in line, so that zeros are fair
                self.actors.remove(actor)
                self.actors.append(actor)
            self._resume(actor)

    def _let_time_pass(self) -> None:
        times = [max(actor.wake_at, actor.process.frozen_until) for actor in self.actors if actor.until is None]
        times += [actor.process.frozen_until for actor in self.actors if actor.until is not None]
        later = [at for at in times if at > self.now]
        if not later:
            raise Stuck("nobody can run, and no time will change that")
        self.now = min(later)

    def _resume(self, actor: Actor) -> None:
        self._current = actor
        actor.greenlet.parent = self._hub
        try:
            actor.greenlet.switch()
        finally:
            self._current = None
        if actor.greenlet.dead and actor in self.actors:
            self.actors.remove(actor)
            actor.process.actors.remove(actor)

    def stop(self) -> None:
        """End every process, so that nothing is left half done."""
        for process in {actor.process for actor in self.actors}:
            self.kill(process)
