"""The moves of one attempt in its kind's machine. A move that an earlier attempt made is not made again."""

import threading
from collections import Counter
from collections.abc import Awaitable, Generator
from functools import lru_cache
from operator import attrgetter
from typing import Any

from leasehold.errors import Misuse, StateDenied, shown
from leasehold.model.effect import Entry
from leasehold.model.lease import Lease
from leasehold.model.limits import KEY_LENGTH_MAX
from leasehold.model.machine import Machine, Move, Step, make_move
from leasehold.model.names import check_text
from leasehold.runtime.commit.requests import AsyncReply, CommitChannel

_states_of = lru_cache(maxsize=64)(attrgetter("states"))


class States:
    """Moves a job, or a part of it, from state to state."""

    def __init__(self, lease: Lease, machine: Machine | None, ledger: CommitChannel) -> None:
        self._lease = lease
        self._machine = machine
        self._ledger = ledger
        self._lock = threading.Lock()
        self._requested: Counter[tuple[str, str]] = Counter()
        self._pending: list[PendingMove] = []

    def advance(self, state: str, subject: str) -> None:
        move = self._make(state, subject)
        _check(move, self._ledger.hand_over(move)())

    def advance_async(self, state: str, subject: str) -> Awaitable[None]:
        """Request a move at once; the handler may await its commit later."""
        move = self._make(state, subject)
        pending = PendingMove(move, self._ledger.enter_async(move))
        self._pending.append(pending)
        return pending

    async def finish(self) -> None:
        """Wait for the moves that the handler did not await; a task whose move is denied fails."""
        for pending in self._pending:
            if not pending.is_checked:
                await pending

    def _make(self, state: Any, subject: str) -> Move:
        machine = self._machine
        if machine is None:
            raise Misuse(f"'{self._lease.kind}' has no machine; declare one with app.machine and pass it as machine=….")
        if state not in _states_of(machine):
            raise StateDenied(f"'{machine.name}' has no state {shown(state)}, only {', '.join(machine.states)}.")
        if subject:
            check_text(subject, KEY_LENGTH_MAX, "What a state is of")
        with self._lock:
            self._requested[state, subject] += 1
            ordinal = self._requested[state, subject]
        return make_move(self._lease, machine, state, subject, ordinal)


def _check(move: Move, entry: Entry) -> None:
    if entry.verdict == Step.DENIED:
        about = f" of '{move.subject}'" if move.subject else ""
        raise StateDenied(f"The state{about} is {entry.result}; {move.target} was requested.")


class PendingMove:
    """A requested move. It needs no asyncio task of its own."""

    __slots__ = ("_answer", "_move", "is_checked")

    def __init__(self, move: Move, answer: AsyncReply) -> None:
        self._move = move
        self._answer = answer
        self.is_checked = False

    def __await__(self) -> Generator[Any, None, None]:
        """Wait until it is committed; `StateDenied` if no arrow leads there."""
        entry = yield from self._answer.__await__()
        self.is_checked = True
        _check(self._move, entry)
