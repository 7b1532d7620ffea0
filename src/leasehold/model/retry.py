"""When a failed attempt is tried again. Pure: the jitter is an argument, drawn from a seed that is recorded."""

import hashlib
from dataclasses import dataclass

from leasehold.errors import OptionInvalid, number_text
from leasehold.model.failure.failure import Failure
from leasehold.model.limits import ATTEMPTS_MAX, DELAY_SECONDS_MAX, LOSSES, LOSSES_MAX
from leasehold.model.names import check_range, check_whole


@dataclass(frozen=True, slots=True)
class Retry:
    """The retry policy of a stage or a provider: how often, and how long to wait in between (seconds).

    `attempts` counts failures of the handler, `losses` the workers that were lost while it ran. `delay_max` limits
    the backoff; `delay_ceiling` limits what a server asks for with `Retry-After`. A handler's own
    `retry_after` is kept as it is.
    """

    attempts: int = 5
    delay_initial: float = 1.0
    multiplier: float = 2.0
    delay_max: float = 60.0
    delay_ceiling: float = 300.0
    losses: int = LOSSES

    def __post_init__(self) -> None:
        check_whole(self.attempts, 1, ATTEMPTS_MAX, "Retry.attempts")
        check_whole(self.losses, 1, LOSSES_MAX, "Retry.losses")
        check_range(self.multiplier, 1, 1_000, "Retry.multiplier")
        for field in ("delay_initial", "delay_max", "delay_ceiling"):
            check_range(getattr(self, field), 0, DELAY_SECONDS_MAX, f"Retry.{field}")
        if self.delay_ceiling < self.delay_max:
            ceiling, most = number_text(self.delay_ceiling), number_text(self.delay_max)
            raise OptionInvalid(
                f"Retry.delay_ceiling ({ceiling} s) is less than Retry.delay_max ({most} s): "
                "a server could not ask for as much as the backoff takes. Raise delay_ceiling or lower delay_max."
            )


@dataclass(frozen=True, slots=True)
class RetryAt:
    """Try again after `delay` seconds."""

    delay: float


@dataclass(frozen=True, slots=True)
class Bury:
    """Do not try again, for this reason."""

    reason: str


def decide(failure: Failure, failures: int, attempts_max: int, policy: Retry, jitter: float) -> RetryAt | Bury:
    """Choose what follows a failed attempt, the last of so many `failures`. `jitter` is drawn from 0 to 1.

    A delay that a server asks for is a lower bound up to the policy's ceiling; one that the handler asks for always.
    """
    if not failure.retryable:
        return Bury("not retryable")
    if failures >= attempts_max:
        return Bury("attempts exhausted")
    server_delay = min(failure.server_retry_after, policy.delay_ceiling)
    return RetryAt(max(_backoff(policy, failures) * jitter, server_delay, failure.retry_after))


def _backoff(policy: Retry, failures: int) -> float:
    delay = policy.delay_initial
    for _ in range(failures - 1):
        if delay >= policy.delay_max:
            break
        delay *= policy.multiplier
    return min(policy.delay_max, delay)


def seed_of(job_key: str, route: str, segment: int | None, epoch: int, attempt: int) -> str:
    """Name the seed of one attempt's jitter; the same attempt has the same seed on any machine."""
    return f"{route}|{job_key}|{segment}|{epoch}|{attempt}"


def jitter_of(seed: str) -> float:
    """Return the jitter of a seed, uniform in 0..1."""
    digest = hashlib.sha256(seed.encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
