"""Fields that an endpoint turned out not to support: left out from then on.

Servers and models that claim the same interface support different parts of it. After a refusal that names a field the
same request is sent without it, a few times at most.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

REFUSED: Final = frozenset({400, 422})
REQUESTS_MAX: Final = 5
SHAPE: Final = "response_format"
BOUNDS: Final = "bounds"
_of_schema: Final = re.compile(r"(?i)response_format|json_schema|\bschema\b|grammar|maxlength|maxitems")
_bounds: Final = frozenset({"maxLength", "maxItems", "minimum", "maximum"})


class UnsupportedFields:
    """Optional fields in the order of trying, and the `names` refused so far. These only grow: threads share them."""

    def __init__(self, *optional: str) -> None:
        self._optional = optional
        self.names: frozenset[str] = frozenset()

    def learn_from(self, refusal: str, left_out: frozenset[str]) -> bool:
        """Add what a refusal names; False if the refused request had nothing left of it to leave out."""
        is_of_schema = _of_schema.search(refusal) is not None
        for name in self._optional:
            is_named = name in refusal or (is_of_schema and name in (BOUNDS, SHAPE))
            if is_named and name not in left_out:
                self.names |= {name}
                return True
        return False


def supported(fields: Mapping[str, Any], unsupported: frozenset[str]) -> dict[str, Any]:
    """Return the fields of a request that are still sent, its schema without bounds if those are unsupported."""
    left = {name: value for name, value in fields.items() if name not in unsupported}
    return _unbounded(left) if BOUNDS in unsupported else left


def _unbounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _unbounded(inner) for name, inner in value.items() if name not in _bounds}
    return [_unbounded(inner) for inner in value] if isinstance(value, list) else value
