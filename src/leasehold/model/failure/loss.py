"""What follows a lost worker: its tasks come back to their old places, until they have lost too many.

A task whose handler never began has lost nothing. After its first loss a task comes back at once, since most workers
die once, of something else; from the second on it waits, each time longer, and is a suspect: it is claimed alone.
"""

import signal
from collections.abc import Collection
from typing import Final, Literal

from msgspec import Struct, json, structs

from leasehold.model.failure.failure import Failure
from leasehold.model.lease import SUSPECT_LOSSES, LeaseKey
from leasehold.model.limits import (
    LOSS_DELAY_SECONDS,
    LOSS_DELAY_SECONDS_MAX,
    LOSS_OTHERS_MAX,
    LOSSES_MAX,
    SUSPECT_AGE_SECONDS,
    SUSPECT_AGE_SECONDS_MAX,
)
from leasehold.model.retry import jitter_of

SUSPECT_PREFIX: Final = "!"


class Reclaim(LeaseKey, frozen=True, omit_defaults=True):
    """One lease to reclaim: it expired, its owner is gone, or its holder releases it.

    Unless it was released or its handler never `began`, the task has lost a worker. It comes back after `delay_us`,
    or ends with `failure` (canonical JSON). `others` (a JSON list) names the tasks that ran in the same worker.
    """

    why: Literal["expired", "owner gone", "released"]
    began: bool = True
    delay_us: int = 0
    failure: str | None = None
    others: str | None = None


class LostLease(Reclaim, frozen=True, kw_only=True):
    """A lease to reclaim, with the facts that decide what follows."""

    worker: int
    losses: int
    losses_max: int


class Reclaimed(LeaseKey, frozen=True):
    queue: str
    status: str


def suspect_route(route: str) -> str:
    """Name the route of suspects, which ordinary claims pass over."""
    return SUSPECT_PREFIX + route


def route_of(name: str) -> str:
    """Return the route that a route of suspects is for."""
    return name.removeprefix(SUSPECT_PREFIX)


def ready_route(route: str, losses: int) -> str:
    """Name the route under which a task that has lost so many workers is ready."""
    return suspect_route(route) if losses >= SUSPECT_LOSSES else route


def required_age(losses: int) -> float:
    """Return for how many seconds a worker must have lived before it may claim a suspect with so many losses.

    Its third loss means that a worker died although the suspect ran apart. From then on the next one must have lived
    longer each time, so that workers that die soon after their start, whatever they run, cannot spend all its losses.
    """
    if losses <= SUSPECT_LOSSES:
        return 0.0
    return float(min(SUSPECT_AGE_SECONDS * 2.0 ** min(losses - SUSPECT_LOSSES - 1, 30), SUSPECT_AGE_SECONDS_MAX))


def claimable_losses(age: float) -> int:
    """Return the most losses that a suspect may have for a worker that has lived so many seconds to claim it."""
    if age >= SUSPECT_AGE_SECONDS_MAX:
        return LOSSES_MAX
    return SUSPECT_LOSSES + int(age / SUSPECT_AGE_SECONDS).bit_length()


def decide(lost: LostLease, pending: Collection[tuple[int, int]], held: Collection[LeaseKey] = ()) -> Reclaim:
    """Choose what follows the loss of a worker. `pending`: what it had claimed and not begun; `held`: all it held."""
    if (lost.task_id, lost.fence) in pending:
        return Reclaim(lost.task_id, lost.fence, lost.why, began=False)
    ran = (one for one in held if one.task_id != lost.task_id and (one.task_id, one.fence) not in pending)
    others = [one.task_id for one, _ in zip(ran, range(LOSS_OTHERS_MAX), strict=False)]
    losses = lost.losses + 1
    reclaim = Reclaim(
        lost.task_id, lost.fence, lost.why, others=json.encode(others).decode("ascii") if others else None
    )
    if losses >= lost.losses_max:
        return structs.replace(reclaim, failure=_exhausted(losses, others).text())
    seed = f"{lost.task_id}|{lost.fence}"
    return structs.replace(reclaim, delay_us=round(_delay(losses, jitter_of(seed)) * 1_000_000))


def _delay(losses: int, jitter: float) -> float:
    """Return the seconds until a lost task comes back: at least half of what the number of losses allows."""
    if losses == 1:
        return 0.0
    whole = min(LOSS_DELAY_SECONDS * 2.0 ** min(losses - 2, 20), LOSS_DELAY_SECONDS_MAX)
    return whole * (0.5 + jitter / 2)


class ChildCrash(Struct, frozen=True):
    """How an isolated process ended without a result: its exit code, negative for a signal, and its memory at most.

    `began`: whether the handler had been called, or the process ended while it was prepared.
    """

    code: int | None = None
    memory_kb: int = 0
    began: bool = True

    @property
    def was_asked(self) -> bool:
        """Whether somebody asked it to end, as a service manager asks every process of a service that it stops."""
        return self.code in (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP)

    def failure(self) -> Failure:
        return Failure("WORKER_CRASHED", f"the child process {self._how()}", retryable=True, context=self._facts())

    def _how(self) -> str:
        if self.code is None:
            return "ended without a result"
        if self.code < 0:
            return f"ended without a result: signal {-self.code}{_signal_name(-self.code)}{self._memory()}"
        return f"ended without a result: exit code {self.code}{self._memory()}"

    def _memory(self) -> str:
        return f", {self.memory_kb // 1024} MB of memory at most" if self.memory_kb else ""

    def _facts(self) -> dict[str, str | int]:
        facts: dict[str, str | int] = {}
        if self.code is not None:
            facts["signal" if self.code < 0 else "exit_code"] = abs(self.code)
        if self.memory_kb:
            facts["memory_mb"] = self.memory_kb // 1024
        return facts


def _signal_name(number: int) -> str:
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""


def convict(crash: ChildCrash, losses: int, others: list[int]) -> Failure:
    """Return the failure of a suspect that crashed alone, in a process of its own: it is what killed its workers."""
    found = crash.failure()
    times = f"{losses} workers were lost while it ran before"
    return Failure(
        found.error_class, f"{found.message}; {times}", context={**found.context, **evidence(losses, others)}
    )


def _exhausted(losses: int, others: list[int]) -> Failure:
    times = "once" if losses == 1 else f"{losses} times"
    message = f"its worker died or stopped renewing the lease {times} while it ran, as often as Retry.losses allows"
    return Failure("WORKER_CRASHED", message, context=evidence(losses, others))


def evidence(losses: int, others: list[int]) -> dict[str, str | int]:
    """Return what an operator needs to judge a task that lost its workers: how many, and what ran with it."""
    found: dict[str, str | int] = {"losses": losses}
    if others:
        found["others"] = ", ".join(map(str, others[:LOSS_OTHERS_MAX]))
    return found
