"""A user's failed attempt as a value: what kind of failure, whether to try again, and what a person needs to read."""

from __future__ import annotations

import traceback
from typing import Any, Final

from msgspec import Struct

from leasehold import canonical
from leasehold.errors import LeaseholdError, Permanent, Transient, Unavailable
from leasehold.model.limits import DELAY_SECONDS_MAX, MESSAGE_LENGTH_MAX, STACK_LENGTH_MAX
from leasehold.model.names import clean

BUGS: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    NotImplementedError,
    RecursionError,
    SyntaxError,
    TypeError,
)


class Failure(Struct, frozen=True, omit_defaults=True):
    """Why an attempt failed. `error_class` is stable; `message` and `stack` are for people."""

    error_class: str
    message: str
    retryable: bool = False
    retry_after: float = 0.0
    stack: str = ""

    def text(self) -> str:
        """Return the failure as canonical JSON, as it is stored."""
        fields: dict[str, Any] = {"error_class": self.error_class, "message": self.message, "retryable": self.retryable}
        if self.retry_after:
            fields["retry_after"] = self.retry_after
        if self.stack:
            fields["stack"] = self.stack
        return canonical.encode(fields)


WORKER_LOST: Final = Failure("WORKER_CRASHED", "its worker died or stopped renewing the lease, and on_lost is 'bury'")
ATTEMPTS_SPENT: Final = Failure(
    "WORKER_CRASHED", "its workers died or stopped renewing the lease; no attempts are left"
)


def classify(error: BaseException) -> Failure:
    """Turn what a handler raised into a `Failure`. Texts are cut and cleaned, so that any exception can be recorded."""
    message = clean(_text_of(error), MESSAGE_LENGTH_MAX)
    stack = clean("".join(_stack_of(error)), STACK_LENGTH_MAX)
    match error:
        case Permanent():
            return Failure("PERMANENT", message, stack=stack)
        case Transient():
            return Failure("TRANSIENT", message, retryable=True, retry_after=_pause(error.retry_after), stack=stack)
        case Unavailable():
            return Failure(error.code, message, retryable=True, stack=stack)
        case LeaseholdError():
            return Failure(error.code, message, stack=stack)
        case TimeoutError():
            return Failure("NETWORK_TIMEOUT", message, retryable=True, stack=stack)
        case ConnectionError():
            return Failure("NETWORK_RESET", message, retryable=True, stack=stack)
        case _ if isinstance(error, BUGS):
            return Failure("BUG", message, stack=stack)
        case _:
            return Failure("UNCLASSIFIED", message, retryable=True, stack=stack)


def _pause(retry_after: object) -> float:
    if isinstance(retry_after, int | float) and retry_after >= 0:
        return float(min(retry_after, DELAY_SECONDS_MAX))
    return 0.0


def _text_of(error: BaseException) -> str:
    name = type(error).__name__
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 — a broken __str__ must not hide the failure itself
        said = "(its text cannot be read)"
    return f"{name}: {said}" if said else name


def _stack_of(error: BaseException) -> list[str]:
    try:
        return traceback.format_tb(error.__traceback__, limit=-20)
    except Exception:  # noqa: BLE001
        return []
