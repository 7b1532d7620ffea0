"""A pipeline's own rules for failures: applied before the built-in table; they cannot hide a failure."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from leasehold.errors import OptionInvalid, check_error_class
from leasehold.model.failure.verdict import Verdict, verdict

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
    if isinstance(failures, type | str | bytes):
        raise _refused(failures)
    if callable(failures):
        return (failures,)
    if isinstance(failures, Iterable):
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
            raise OptionInvalid(f"failures maps types of exceptions; got {str(kind)[:80]!r}.")
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
