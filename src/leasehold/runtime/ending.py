"""What follows an attempt, by what came of it: a result, a failure to retry or to bury, a cancel, a time-out."""

from msgspec.structs import replace

from leasehold import canonical, clock
from leasehold.errors import Cancelled, EffectInDoubt, PayloadInvalid, TimedOut, number_text
from leasehold.model import lease as endings
from leasehold.model.delivery import trace_of
from leasehold.model.failure.failure import Failure, classify
from leasehold.model.lease import Lease, Settlement
from leasehold.model.retry import Bury, decide, jitter_of, seed_of
from leasehold.runtime.handlers import Handler
from leasehold.runtime.task import Task


def succeeded(lease: Lease, task: Task | None, result: object) -> Settlement:
    """Decide on a result: it ends the task, unless it cannot be stored."""
    detail, posts = None, None
    if task is not None:
        used, posts = task.effects.summary(), task.posts.all()
        if isinstance(used, EffectInDoubt):  # whatever the handler made of it, a person must resolve it
            return endings.failed(lease, classify(used))
        facts = {**(used or {}), **trace_of(posts)}
        detail = canonical.encode(facts) if facts else None
    if result is None:
        return endings.done(lease, "null", detail, posts)
    try:
        return endings.done(lease, canonical.encode(result), detail, posts)
    except PayloadInvalid as error:
        return endings.failed(lease, classify(error))


def failed(lease: Lease, handler: Handler, error: BaseException) -> Settlement:
    """Decide on what the handler raised."""
    failure = _classify(handler, error)
    if isinstance(error, Cancelled):
        return endings.cancelled(lease, Failure("CANCELLED", failure.message))
    return judge(lease, handler, failure)


def timed_out(lease: Lease, handler: Handler, cause: BaseException | None) -> Settlement:
    """Decide on an attempt whose time was over, whatever its handler made of that; `cause` shows where it was."""
    error = TimedOut(f"The timeout is {number_text(handler.timeout or 0)} s.")
    error.__cause__ = cause
    failure = _classify(handler, error)
    return judge(lease, handler, replace(failure, context={**failure.context, "ended_by": "timeout"}))


def _classify(handler: Handler, error: BaseException) -> Failure:
    try:
        return classify(error, handler.rules, clock.wall())
    except BaseException:  # noqa: BLE001 — whatever was raised, the attempt ends
        return Failure("UNCLASSIFIED", "an exception that cannot be described", retryable=True)


def judge(lease: Lease, handler: Handler, failure: Failure) -> Settlement:
    """Choose what follows a failure. The jitter's seed is recorded with the delay drawn from it."""
    seed = seed_of(lease.key, lease.route, lease.segment, lease.epoch, lease.attempt)
    decision = decide(failure, lease.failures, lease.attempts_max, handler.retry, jitter_of(seed))
    if isinstance(decision, Bury):
        return endings.failed(lease, failure)
    delay_us = clock.microseconds(decision.delay)
    detail = {"delay_us": delay_us, "error_class": failure.error_class, "message": failure.message, "seed": seed}
    if failure.retry_after:
        detail["retry_after"] = failure.retry_after
    if failure.server_retry_after:
        detail["server_retry_after"] = failure.server_retry_after
        if failure.server_retry_after > handler.retry.delay_ceiling:
            detail["delay_ceiling"] = handler.retry.delay_ceiling
    return endings.retried(lease, failure, delay_us, canonical.encode(detail))
