"""The moves of one attempt in its kind's machine. A move that an earlier attempt made is not made again."""

import threading
from collections import Counter
from collections.abc import Awaitable
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any

from leasehold.errors import Misuse, StateDenied, shown
from leasehold.model.effect import Entry
from leasehold.model.lease import Lease
from leasehold.model.limits import KEY_LENGTH_MAX
from leasehold.model.machine import Machine, Move, Step, make_move
from leasehold.model.names import check_text
from leasehold.runtime.commit.requests import CommitChannel
from leasehold.runtime.effects.pending import PendingAnswers

_states_of = lru_cache(maxsize=64)(attrgetter("states"))


class States:
    """Moves a job, or a part of it, from state to state."""

    def __init__(self, lease: Lease, machine: Machine | None, ledger: CommitChannel, pending: PendingAnswers) -> None:
        self._lease = lease
        self._machine = machine
        self._ledger = ledger
        self._pending = pending
        self._lock = threading.Lock()
        self._requested: Counter[tuple[str, str]] = Counter()

    def advance(self, state: str, subject: str) -> None:
        move = self._make(state, subject)
        _check(move, self._ledger.hand_over(move)())

    def advance_async(self, state: str, subject: str) -> Awaitable[None]:
        """Request a move at once; the handler may await its commit later."""
        move = self._make(state, subject)
        return self._pending.ask(move, partial(_check, move))

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
