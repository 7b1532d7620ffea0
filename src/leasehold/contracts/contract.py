"""One contract: a schema of one major version, compiled, and the problems that it finds in a row."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Final

from leasehold.contracts.diagnostics import MESSAGE_SHOWN_MAX, Problem, Reason, ValidatorMissing, clipped, json_path

PROBLEMS_PER_ROW_MAX: Final = 20
MASK: Final = "the value"


@dataclass(frozen=True, slots=True)
class Contract:
    """A schema and its validator. The registry makes these."""

    name: str
    major: int
    schema: dict[str, Any] = field(repr=False, compare=False)
    validator: Any = field(repr=False, compare=False)

    def admits(self, rows: list[dict[str, Any]]) -> bool:
        """Return whether all of these obey, fast and without reasons."""
        try:
            return all(map(self.validator.is_valid, rows))
        except ValueError:  # what no JSON document can hold, or one nested too deep: `problems` reports it
            return False

    def problems(self, row: Any) -> list[Problem]:
        """Return what is wrong with a row, the first few; an empty list if nothing is."""
        try:
            found = chain.from_iterable(map(_problems_of, self.validator.iter_errors(row)))
            return list(islice(found, PROBLEMS_PER_ROW_MAX))
        except ValueError as error:
            return [Problem("$", Reason.VALUE_INVALID, clipped(f"it cannot be checked: {error}", MESSAGE_SHOWN_MAX))]


def validator_library() -> Any:
    """Return jsonschema_rs, which is an extra, so that everything else works without it."""
    try:
        import jsonschema_rs
    except ImportError:
        raise ValidatorMissing from None
    return jsonschema_rs


def _problems_of(error: Any) -> Iterator[Problem]:
    """Translate an error of the validator; an object with two unknown fields has two problems."""
    steps, kinds = list(error.instance_path), validator_library().ValidationErrorKind
    match error.kind:
        case kinds.Required(property=name):
            yield Problem(json_path([*steps, name]), Reason.FIELD_MISSING, "it is required")
        case kinds.AdditionalProperties(unexpected=names):
            for name in islice(names, PROBLEMS_PER_ROW_MAX):
                yield Problem(json_path([*steps, name]), Reason.FIELD_UNKNOWN, "the contract has no such field")
        case kinds.FalseSchema():
            yield Problem(json_path(steps), Reason.FIELD_DISALLOWED, "it must not stand in a row like this one")
        case _:
            yield Problem(json_path(steps), Reason.VALUE_INVALID, clipped(error.message, MESSAGE_SHOWN_MAX))
