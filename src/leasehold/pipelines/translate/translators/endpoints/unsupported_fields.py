"""What an endpoint was found not to take: left out from then on.

Servers and models that claim the same interface differ in what they know of it. A refusal that names a field is
answered by the same request without it, a few times at most.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

REFUSED: Final = frozenset({400, 422})
ASKED_MAX: Final = 5
SHAPE: Final = "response_format"
BOUNDS: Final = "bounds"
_of_schema: Final = re.compile(r"(?i)response_format|json_schema|\bschema\b|grammar|maxlength|maxitems")
_bounds: Final = frozenset({"maxLength", "maxItems", "minimum", "maximum"})


class Concessions:
    """What may be given up, in the order of trying, and what was. It only grows, so threads may share it."""

    def __init__(self, *optional: str) -> None:
        self._optional = optional
        self.given_up: frozenset[str] = frozenset()

    def concede(self, said: str, missing: frozenset[str]) -> bool:
        """Give up what a refusal names; False if the refused request had nothing left of it to give up."""
        is_of_schema = _of_schema.search(said) is not None
        for name in self._optional:
            is_named = name in said or (is_of_schema and name in (BOUNDS, SHAPE))
            if is_named and name not in missing:
                self.given_up |= {name}
                return True
        return False


def without(wanted: Mapping[str, Any], given_up: frozenset[str]) -> dict[str, Any]:
    """Return the fields of a request that are still sent, its schema without bounds if those were given up."""
    left = {name: value for name, value in wanted.items() if name not in given_up}
    return _unbounded(left) if BOUNDS in given_up else left


def _unbounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _unbounded(inner) for name, inner in value.items() if name not in _bounds}
    return [_unbounded(inner) for inner in value] if isinstance(value, list) else value
