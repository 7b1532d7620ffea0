"""Classify one exception: by a pipeline's rules, then by codes it carries, then by the names of its classes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from leasehold.errors import LeaseholdError, OptionInvalid, Permanent, Transient, Unavailable, check_error_class
from leasehold.model.failure.codes import by_status, class_by_code, class_by_errno, provider_class
from leasehold.model.failure.named import cause_of, class_of, names_of
from leasehold.model.failure.responses import read_attribute, response_of
from leasehold.model.failure.verdict import Rule, Verdict, consult, pause, verdict

DEPTH_MAX: Final = 8
MEMBERS_MAX: Final = 10_000
UNKNOWN: Final = verdict("UNCLASSIFIED")


@dataclass(frozen=True, slots=True)
class Classification:
    """A verdict and its errors: the one that was raised, and the one inside it that decided."""

    verdict: Verdict
    about: tuple[BaseException, ...]
    server_retry_after: float = 0.0


@dataclass(frozen=True, slots=True)
class Classifier:
    """Classifies errors by a pipeline's rules and the built-in table; `now` is in microseconds since 1970."""

    rules: tuple[Rule, ...] = ()
    now: int | None = None
    troubles: list[BaseException] = field(default_factory=list)

    def classify(self, error: BaseException) -> Classification:
        if isinstance(error, BaseExceptionGroup):
            return self._ruled(error) or self._classify_group(error)
        return self._classify_one(error)

    def _classify_one(self, error: BaseException) -> Classification:
        return self._ruled(error) or self._known(error) or self._caused(error) or Classification(UNKNOWN, (error,))

    def _caused(self, error: BaseException) -> Classification | None:
        link = error.__cause__
        for _ in range(DEPTH_MAX):
            if link is None:
                break
            found = self._ruled(link) or self._known(link)
            if found is not None:
                return replace(found, about=(error, *found.about))
            link = link.__cause__
        return None

    def _classify_group(self, group: BaseExceptionGroup[BaseException]) -> Classification:
        """A group is final if one member is: that one would fail again. Members beyond the limit are ignored."""
        known, longest, asked = Classification(UNKNOWN, ()), 0.0, 0.0
        for member in islice(_members(group), MEMBERS_MAX):
            found = self._classify_one(member)
            if not found.verdict.retryable:
                return replace(found, about=(group, *found.about))
            if not known.about or (known.verdict == UNKNOWN and found.verdict != UNKNOWN):
                known = found
            longest, asked = max(longest, found.verdict.retry_after), max(asked, found.server_retry_after)
        return Classification(replace(known.verdict, retry_after=longest), (group, *known.about), asked)

    def _ruled(self, error: BaseException) -> Classification | None:
        found = consult(self.rules, error, self.troubles)
        return Classification(found, (error,), self._server_retry_after(found, error)) if found else None

    def _known(self, error: BaseException, depth: int = 0) -> Classification | None:
        own = _own(error)
        if own is not None:
            return Classification(own, (error,))
        names = names_of(error)
        found = self._carried(error, names)
        if found is not None:
            return Classification(found, (error,), self._server_retry_after(found, error))
        cause = cause_of(error, names)
        inner = self._known(cause, depth + 1) if cause is not None and depth < DEPTH_MAX else None
        if inner is not None:
            return replace(inner, about=(error, *inner.about))
        named = class_of(names) or class_by_errno(error)
        return Classification(verdict(named), (error,)) if named else None

    def _carried(self, error: BaseException, names: list[str]) -> Verdict | None:
        answer = response_of(error)
        found = provider_class(error) or (by_status(answer.status) if answer else None)
        found = found or class_by_code(error, names)
        return verdict(found) if found else None

    def _server_retry_after(self, found: Verdict, error: BaseException) -> float:
        answer = response_of(error) if found.retryable else None
        return answer.retry_after(self.now) if answer else 0.0


def _members(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    left: list[BaseException] = [group]
    while left:
        one = left.pop()
        if isinstance(one, BaseExceptionGroup):
            left.extend(reversed(one.exceptions))
        else:
            yield one


def _own(error: BaseException) -> Verdict | None:
    """Classify `Permanent` and `Transient`, and the engine's own errors."""
    match error:
        case Permanent():
            return Verdict(_class_or(error.error_class, "PERMANENT"), retryable=False)
        case Transient():
            after = pause(read_attribute(error, "retry_after"))
            return Verdict(_class_or(error.error_class, "TRANSIENT"), retryable=True, retry_after=after)
        case LeaseholdError():
            return Verdict(_class_or(error.code, LeaseholdError.code), isinstance(error, Unavailable))
        case _:
            return None


def _class_or(given: object, default: str) -> str:
    try:
        return check_error_class(given)
    except OptionInvalid:
        return default


def classify_error(
    error: BaseException, rules: Iterable[Rule], now: int | None
) -> tuple[Classification, list[BaseException]]:
    """Classify an error; also return the exceptions that rules raised."""
    classifier = Classifier(tuple(rules), now)
    try:
        return classifier.classify(error), classifier.troubles
    except BaseException:  # noqa: BLE001 — an error that cannot be read is still a failure
        return Classification(UNKNOWN, (error,)), classifier.troubles
