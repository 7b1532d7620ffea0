"""The safe normalizations of the contract, each with its diagnostic: trimming, path separators, integral digits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from leasehold.pipelines.review.contract.diagnostics import CoercionApplied, ReviewDiagnostic
from leasehold.pipelines.review.contract.result import LINES
from leasehold.pipelines.review.limits import DIGITS_MAX

# ASCII digits alone: `²` and digits of other scripts are no numbers here.
INTEGRAL: Final = re.compile(rf"-?[0-9]{{1,{DIGITS_MAX}}}")


class Normalizer:
    """Normalizes fields of one response and notes every change."""

    def __init__(self, diagnostics: list[ReviewDiagnostic]) -> None:
        self._diagnostics = diagnostics

    def normalize(self, fields: Mapping[str, Any], known: tuple[str, ...], id_: str | None = None) -> dict[str, Any]:
        """Return the known fields that are there, normalized."""
        found = {}
        for name in known:
            if name in fields:
                old = fields[name]
                new = normalized(name, old)
                if new is not old and (type(new) is not type(old) or new != old):
                    self.note(id_, name, old, new)
                found[name] = new
        return found

    def note(self, id_: str | None, name: str, old: object, new: object) -> None:
        self._diagnostics.append(CoercionApplied(id_ or None, name, str(old), str(new)))


def normalized(name: str, value: Any) -> Any:
    """Return the normalized value of a field; whatever is not safe to change comes back as it is."""
    if name in LINES:
        return _line(value)
    if not isinstance(value, str):
        return value
    trimmed = value.strip()
    return trimmed.replace("\\", "/") if name == "file" else trimmed


def _line(value: Any) -> Any:
    """Return the integer that digits or a float such as 10.0, which JSON Schema counts as an integer, stand for."""
    if isinstance(value, str) and INTEGRAL.fullmatch(text := value.strip()):
        return int(text)
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**DIGITS_MAX:
        return int(value)
    return value
