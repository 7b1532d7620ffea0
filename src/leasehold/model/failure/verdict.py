"""A verdict on a failure, and the table of classes that says which of them may pass by themselves.

The table's rows are those of the specification; only `UNCLASSIFIED`, the failures of the machine at hand and the
handlers' own signals are added to it. A class that is not listed does not pass: somebody has to act.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from leasehold.errors import OptionInvalid, check_error_class
from leasehold.model.limits import DELAY_SECONDS_MAX

RETRYABLE: Final[dict[str, bool]] = {
    # Network transient.
    "NETWORK_TIMEOUT": True,
    "NETWORK_RESET": True,
    "NETWORK_DNS": True,
    "UPSTREAM_UNAVAILABLE": True,
    # Rate limiting and quota throttling. A quota that only money or a person renews does not pass.
    "RATE_LIMITED": True,
    "QUOTA_EXHAUSTED": False,
    # Upstream internal service errors.
    "UPSTREAM_ERROR": True,
    # Idempotency or optimistic-lock conflicts.
    "CONFLICT": True,
    # Validation and schema errors.
    "SCHEMA_INVALID": False,
    # Authentication and authorization; a certificate that cannot be trusted.
    "AUTH_DENIED": False,
    "TLS_INVALID": False,
    # Not found, permanent resource state.
    "NOT_FOUND": False,
    # Content policy, hard business-rule reject.
    "POLICY_REJECTED": False,
    # Configuration or runtime bug.
    "BUG": False,
    # The machine at hand and the programs on it.
    "WORKER_CRASHED": True,
    "DISK_FULL": True,
    "RESOURCES_EXHAUSTED": True,
    "PROCESS_TIMEOUT": True,
    "PROCESS_FAILED": True,
    # What a handler says itself, and what nobody knows: tried again within the attempts there are.
    "PERMANENT": False,
    "TRANSIENT": True,
    "UNCLASSIFIED": True,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a failure is, whether to try again, and not before how many seconds."""

    error_class: str
    retryable: bool
    retry_after: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a verdict that could not be recorded."""
        check_error_class(self.error_class)
        if not isinstance(self.retryable, bool):
            raise OptionInvalid(f"Verdict.retryable is True or False; got {type(self.retryable).__name__}.")
        after: object = self.retry_after
        if not isinstance(after, int | float) or not after >= 0:
            raise OptionInvalid(f"Verdict.retry_after is a number of seconds, 0 or more; got {str(after)[:40]}.")


def verdict(error_class: str, retry_after: float = 0.0) -> Verdict:
    """Return the table's verdict on a class; one that it does not know is final."""
    retryable = RETRYABLE.get(error_class, False)
    return Verdict(error_class, retryable, retry_after if retryable else 0.0)


def pause(retry_after: object) -> float:
    """Return a number of seconds to wait that can be kept, and 0 for what is not one."""
    if isinstance(retry_after, int | float) and retry_after >= 0:
        return float(min(retry_after, DELAY_SECONDS_MAX))
    return 0.0
