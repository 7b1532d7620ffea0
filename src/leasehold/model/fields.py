"""Which fields a payload has: what a handler's arguments ask for, kept as data for processes without the handler."""

from collections.abc import Mapping
from types import NoneType
from typing import Final

from msgspec import Struct

from leasehold.errors import ArgumentsInvalid, did_you_mean

UNKNOWN_LENGTH_MAX = 200
JSON_TYPES: Final[Mapping[str, str]] = {
    one.__name__: words
    for one, words in {
        str: "a text",
        int: "a whole number",
        float: "a number",
        bool: "a boolean",
        list: "a list",
        dict: "an object",
        NoneType: "null",
    }.items()
}


class Fields(Struct, frozen=True):
    """The fields that a payload must have (`required`) and may have (`accepted`; None: any), each in order.

    `types`: the names of the types that a field may have, of those fields whose annotations name types of JSON alone.
    """

    required: tuple[str, ...] = ()
    accepted: tuple[str, ...] | None = None
    types: Mapping[str, tuple[str, ...]] = {}

    def check(self, payload: Mapping[str, object], route: str) -> None:
        """Raise `ArgumentsInvalid` unless a payload has these fields; `route` names the handler in the error."""
        if tuple(payload) == self.accepted:  # the usual case
            return
        missing = [name for name in self.required if name not in payload]
        unknown = [] if self.accepted is None else sorted(payload.keys() - set(self.accepted))
        if missing or unknown:
            problems = [f"missing: {', '.join(missing)}"] if missing else []
            problems += [f"unknown: {', '.join(unknown)}"[:UNKNOWN_LENGTH_MAX]] if unknown else []
            hint = did_you_mean(unknown[0], self.accepted or ()) if unknown else ""
            raise ArgumentsInvalid(f"Handler '{route}': {'; '.join(problems)}.{hint}")

    def check_types(self, payload: Mapping[str, object], route: str) -> None:
        """Raise `ArgumentsInvalid` if a field has another type than its annotation; values are not shown."""
        for name, types in self.types.items():
            if name in payload and not _is_one_of(payload[name], types):
                wanted = " or ".join(JSON_TYPES[one] for one in types)
                found = JSON_TYPES[type(payload[name]).__name__]
                raise ArgumentsInvalid(f"Handler '{route}': {name} must be {wanted}; got {found}.")


def _is_one_of(value: object, types: tuple[str, ...]) -> bool:
    """Whether a value of JSON has one of these types, or one of them is not known in this version."""
    if not JSON_TYPES.keys() >= set(types):
        return True
    return type(value).__name__ in types or (type(value) is int and float.__name__ in types)
