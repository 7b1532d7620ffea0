"""The moves of one attempt in its kind's machine. What an earlier attempt of the task has made is not made again."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from functools import lru_cache
from operator import attrgetter
from typing import Any

from leasehold.errors import Misuse, StateDenied
from leasehold.model.effect import Entry
from leasehold.model.lease import Lease
from leasehold.model.limits import KEY_LENGTH_MAX
from leasehold.model.machine import Machine, Move, Step, make_move
from leasehold.model.names import check_text
from leasehold.runtime.commit.replies import AsyncReply
from leasehold.runtime.effects.effects import Ledger

_states_of = lru_cache(maxsize=64)(attrgetter("states"))


class States:
    """Moves a job, or a part of it, from state to state."""

    def __init__(self, lease: Lease, machine: Machine | None, ledger: Callable[[], Ledger]) -> None:
        self._lease = lease
        self._machine = machine
        self._reach = ledger
        self._lock = threading.Lock()
        self._asked: Counter[tuple[str, str]] = Counter()
        self._under_way: list[PendingMove] = []

    def advance(self, state: str, subject: str) -> None:
        """Move, and return once that is committed."""
        move = self._make(state, subject)
        self.judge(move, self._reach().enter(move))

    def advance_async(self, state: str, subject: str) -> Awaitable[None]:
        """Ask for a move at once; what is returned is awaited for its commit, whenever that suits."""
        move = self._make(state, subject)
        moving = PendingMove(self, move, self._reach().enter_async(move))
        self._under_way.append(moving)
        return moving

    @property
    def are_due(self) -> bool:
        """Whether moves were asked for that nobody has waited for."""
        return any(not moving.is_judged for moving in self._under_way)

    async def settle(self) -> None:
        """Wait for the moves that nobody has waited for: a task does not end before them, nor well if one is denied."""
        for moving in self._under_way:
            if not moving.is_judged:
                await moving

    def _make(self, state: Any, subject: str) -> Move:
        machine = self._machine
        if machine is None:
            raise Misuse(f"'{self._lease.kind}' has no machine; declare one with app.machine and pass it as machine=….")
        if state not in _states_of(machine):
            raise StateDenied(f"'{machine.name}' has no state {str(state)[:80]!r}, only {', '.join(machine.states)}.")
        if subject:
            check_text(subject, KEY_LENGTH_MAX, "What a state is of")
        with self._lock:
            self._asked[state, subject] += 1
            ordinal = self._asked[state, subject]
        return make_move(self._lease, machine, state, subject, ordinal)

    def judge(self, move: Move, entry: Entry) -> None:
        """See that a move was made."""
        if entry.verdict == Step.DENIED:
            about = f" of '{move.subject}'" if move.subject else ""
            raise StateDenied(f"The state{about} is {entry.result}; {move.target} was asked for.")


class PendingMove:
    """A move that was asked for. It needs no task of a loop of its own."""

    __slots__ = ("_answer", "_move", "_states", "is_judged")

    def __init__(self, states: States, move: Move, answer: AsyncReply) -> None:
        self._states = states
        self._move = move
        self._answer = answer
        self.is_judged = False

    def __await__(self) -> Generator[Any, None, None]:
        """Wait until it is committed; `StateDenied` if no arrow leads there."""
        entry = yield from self._answer.__await__()
        self.is_judged = True
        self._states.judge(self._move, entry)
