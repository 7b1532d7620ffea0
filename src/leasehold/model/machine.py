"""A declared state machine: the states a job goes through in addition to its status, and the transitions. Pure.

A handler moves its job with `task.advance(state)`. The database holds the transitions and refuses any other; each one
is an event of the journal, in the same transaction.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import chain
from typing import Final

from msgspec import Struct

from leasehold import canonical
from leasehold.errors import MachineInvalid, shown
from leasehold.model.lease import Lease
from leasehold.model.limits import ARROWS_MAX, STATE_PATTERN

_state: Final = re.compile(STATE_PATTERN)


class Machine(Struct, frozen=True):
    """The initial state of every job of a kind, the state shown for a failed one, and the allowed transitions."""

    name: str
    initial: str
    failed: str | None
    arrows: tuple[tuple[str, str], ...]

    @property
    def states(self) -> tuple[str, ...]:
        """Every state, in the order of declaration."""
        return tuple(dict.fromkeys([self.initial, *chain.from_iterable(self.arrows)]))


class Move(Struct, frozen=True):
    """One change of state asked for by an attempt: the `ordinal`-th to this state. `tail`: the end of its event."""

    job_id: int
    task_id: int
    fence: int
    machine: str
    subject: str
    target: str
    ordinal: int
    tail: str
    key: str  # as no effect has one; of all moves of an attempt no two have the same


class Step(StrEnum):
    MOVED = "moved"
    RETRY = "again"  # an earlier attempt of the task has made it
    DENIED = "denied"


def make_machine(
    name: str, arrows: Mapping[str, str | Iterable[str]], *, initial: str, failed: str | None = None
) -> Machine:
    """Check a declaration: every state has a valid name and is reachable."""
    pairs = [(source, target) for source, targets in arrows.items() for target in _several(targets)]
    states: list[object] = [initial, *([] if failed is None else [failed]), *chain.from_iterable(pairs)]
    for state in states:
        if not isinstance(state, str) or not _state.match(state):
            raise MachineInvalid(f"In '{name}' a state is called {shown(state)}.")
    if not 1 <= len(pairs) <= ARROWS_MAX:
        raise MachineInvalid(f"'{name}' has {len(pairs)} arrows; it needs 1 to {ARROWS_MAX}.")
    machine = Machine(name, initial, failed, tuple(dict.fromkeys(pairs)))
    if lost := [state for state in machine.states if state not in _reached(machine)]:
        raise MachineInvalid(f"No arrow of '{name}' leads from '{initial}' to '{lost[0]}'.")
    return machine


def _several(targets: str | Iterable[str]) -> Iterable[str]:
    return [targets] if isinstance(targets, str) else targets


def _reached(machine: Machine) -> set[str]:
    reached = {machine.initial}
    while more := {target for source, target in machine.arrows if source in reached} - reached:
        reached |= more
    return reached


def make_move(lease: Lease, machine: Machine, target: str, subject: str, ordinal: int) -> Move:
    about = f'"of":{canonical.encode(subject)},' if subject else ""
    tail = f'{about}"to":"{target}"}}'
    key = f"{ordinal} {target} {subject}"
    return Move(lease.job_id, lease.task_id, lease.fence, machine.name, subject, target, ordinal, tail, key)
