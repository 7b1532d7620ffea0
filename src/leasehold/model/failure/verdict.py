"""The verdict on a failure, and the table of error classes: which of them are retried.

The rows are those of the specification, plus `UNCLASSIFIED`, failures of the local machine and the handlers' own
signals. A class that is not listed is not retried: a person has to act.
"""

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
    # Rate limiting and quota throttling. A quota that only money or a person renews is final.
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
    # The local machine and the programs on it.
    "WORKER_CRASHED": True,
    "DISK_FULL": True,
    "RESOURCES_EXHAUSTED": True,
    "PROCESS_TIMEOUT": True,
    "PROCESS_FAILED": True,
    # Raised by a handler itself, or unknown: retried while attempts are left.
    "PERMANENT": False,
    "TRANSIENT": True,
    "UNCLASSIFIED": True,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The class of a failure, whether to retry, and after how many seconds at the earliest."""

    error_class: str
    retryable: bool
    retry_after: float = 0.0

    def __post_init__(self) -> None:
        check_error_class(self.error_class)
        if not isinstance(self.retryable, bool):
            raise OptionInvalid(f"Verdict.retryable is True or False; got {type(self.retryable).__name__}.")
        after: object = self.retry_after
        if not isinstance(after, int | float) or not after >= 0:
            raise OptionInvalid(f"Verdict.retry_after is a number of seconds, 0 or more; got {str(after)[:40]}.")


def verdict(error_class: str, retry_after: float = 0.0) -> Verdict:
    """Return the table's verdict on a class; an unknown class is final."""
    retryable = RETRYABLE.get(error_class, False)
    return Verdict(error_class, retryable, retry_after if retryable else 0.0)


def pause(retry_after: object) -> float:
    """Return a delay in seconds that can be stored; 0 for anything that is not one."""
    if isinstance(retry_after, int | float) and retry_after >= 0:
        return float(min(retry_after, DELAY_SECONDS_MAX))
    return 0.0
