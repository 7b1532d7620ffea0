"""Types that JSON values are read into, prepared before a second thread can need one.

msgspec reads a type when it first meets it. Two threads that meet the same one at the same time end the process with a
segmentation fault (0.22). A shape is therefore made while its module is imported, which one thread does, and tests/tidy
checks that nothing is read into a type in any other way.
"""

from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)


def from_fields(kind: type[S], row: object, /, **others: Any) -> S:
    """Make a struct of the fields that a row has under the same names, and of `others`."""
    fields = {name: getattr(row, name) for name in kind.__struct_fields__ if name not in others and hasattr(row, name)}
    return kind(**fields, **others)


class View(msgspec.Struct, frozen=True):
    """A row as people and programs see it."""

    def plain(self) -> dict[str, Any]:
        """Return it as JSON-able fields, times in ISO 8601 (UTC)."""
        found: dict[str, Any] = msgspec.to_builtins(self, builtin_types=(datetime,))
        return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in found.items()}


class Shape(Generic[T]):
    """A type to read into: `Shape(Lease)`, made at the top of a module."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(kind)

    def convert(self, value: Any) -> T:
        """Read JSON-able fields; `msgspec.ValidationError` if it does not match."""
        found: T = msgspec.convert(value, type=self._kind)
        return found

    def decode(self, text: str | bytes) -> T:
        """Read JSON text; `msgspec.DecodeError` if it is no such JSON."""
        return self._decoder.decode(text)
