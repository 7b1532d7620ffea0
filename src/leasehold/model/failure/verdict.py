"""The verdict on a failure: by the table of error classes, and by a pipeline's own rules, which come before it.

The rows are those of the specification, plus `UNCLASSIFIED`, failures of the local machine and the handlers' own
signals. A class that is not listed is not retried: a person has to act. Rules cannot hide a failure.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from leasehold.errors import OptionInvalid, check_error_class, shown
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
    # An attempt that took longer than its timeout.
    "TIMEOUT": True,
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
            raise OptionInvalid(f"Verdict.retry_after is a number of seconds, 0 or more; got {shown(after)}.")


def verdict(error_class: str, retry_after: float = 0.0) -> Verdict:
    """Return the table's verdict on a class; an unknown class is final."""
    retryable = RETRYABLE.get(error_class, False)
    return Verdict(error_class, retryable, retry_after if retryable else 0.0)


def pause(retry_after: object) -> float:
    """Return a delay in seconds that can be stored; 0 for anything that is not one."""
    if isinstance(retry_after, int | float) and retry_after >= 0:
        return float(min(retry_after, DELAY_SECONDS_MAX))
    return 0.0


Rule = Callable[[BaseException], Verdict | None]
# What `failures=` takes: a mapping by type, a function, or several of these in the order they are asked.
# A function may take a narrower type of error than it is asked about; then it raises, and that is noted.
Failures = Mapping[Any, "str | Verdict"] | Callable[[Any], Verdict | None] | Iterable[Any] | None


def make_rules(failures: Failures) -> tuple[Rule, ...]:
    """Check the value of `failures=` and return its rules."""
    if failures is None:
        return ()
    if isinstance(failures, Mapping):
        return (_by_type(failures),)
    if callable(failures) and not isinstance(failures, type):
        return (failures,)
    if isinstance(failures, Iterable) and not isinstance(failures, type | str | bytes):
        return tuple(rule for one in failures for rule in _one(one))
    raise _refused(failures)


def _one(failures: Any) -> tuple[Rule, ...]:
    if isinstance(failures, Mapping) or callable(failures):
        return make_rules(failures)
    raise _refused(failures)


def _refused(failures: object) -> OptionInvalid:
    return OptionInvalid(
        "failures is {ExceptionType: 'ERROR_CLASS' or Verdict}, a function from an error to a Verdict or None,"
        f" or several of these; got {type(failures).__name__}."
    )


def _by_type(given: Mapping[Any, str | Verdict]) -> Rule:
    for kind in given:
        if not isinstance(kind, type) or not issubclass(kind, BaseException):
            raise OptionInvalid(f"failures maps types of exceptions; got {shown(kind)}.")
    table = {
        kind: value if isinstance(value, Verdict) else verdict(check_error_class(value))
        for kind, value in given.items()
    }

    def rule(error: BaseException) -> Verdict | None:
        return next((table[kind] for kind in type(error).__mro__ if kind in table), None)

    return rule


def consult(rules: Iterable[Rule], error: BaseException, troubles: list[BaseException]) -> Verdict | None:
    """Return the first rule's verdict. If a rule raises, add that to `troubles` and try the next."""
    for rule in rules:
        try:
            found = rule(error)
            if found is not None and not isinstance(found, Verdict):
                raise TypeError(f"the rule returned {type(found).__name__}, not a Verdict")  # noqa: TRY301
        except BaseException as trouble:  # noqa: BLE001 — a broken rule must not hide the failure it was asked about
            troubles.append(trouble)
            continue
        if found is not None:
            return found
    return None
