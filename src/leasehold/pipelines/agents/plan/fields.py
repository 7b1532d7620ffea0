"""One table of a plan, read field by field: each answer has the right type, or the refusal names the line."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

from leasehold.errors import did_you_mean, number_text, shown
from leasehold.pipelines.agents.limits import ARGUMENT_BYTES_MAX, ARGUMENTS_MAX, BUDGET_MAX
from leasehold.pipelines.agents.plan.lines import Place, PlanLines
from leasehold.pipelines.agents.plan.refusals import (
    PlanBudgetInvalid,
    PlanCommandInvalid,
    PlanFieldMissing,
    PlanFieldUnknown,
    PlanInvalid,
    PlanNameInvalid,
    PlanNameTwice,
    PlanValueInvalid,
)

_name: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}\Z")
WORDS_SHOWN: Final = 8
KINDS: Final = {str: "text", bool: "true or false", int: "a whole number", float: "a number", list: "a list"}


class PlanTable:
    """The fields of one table, `[session]` or one `[[child]]`."""

    def __init__(self, fields: Any, place: Place, lines: PlanLines) -> None:
        self.place = place
        self.lines = lines
        if not isinstance(fields, dict):
            what = place[0] if place else "request"
            raise PlanValueInvalid(f"{self.where()}: '{what}' is {kind_of(fields)}, not a table.")
        self._fields: dict[str, Any] = fields

    def where(self, *names: str) -> str:
        return self.lines.name(*self.place, *names)

    def check_names(self, known: tuple[str, ...]) -> None:
        for name in self._fields:
            if name not in known:
                hint = did_you_mean(name, known) or f" Known fields: {', '.join(known)}."
                raise PlanFieldUnknown(f"{self.where(name)}: {shown(name)}.{hint}")

    def require(self, name: str) -> None:
        if name not in self._fields:
            raise PlanFieldMissing(f"{self.where()}: '{name}'.")

    def get(self, name: str, default: Any = None) -> Any:
        return self._fields.get(name, default)

    def has(self, name: str) -> bool:
        return name in self._fields

    def value(self, name: str, kind: type, default: Any = None) -> Any:
        """Return a field of exactly this type: true is not a number here."""
        if name not in self._fields:
            return default
        found: Any = self._fields[name]
        if type(found) is not kind:
            raise PlanValueInvalid(f"{self.where(name)}: '{name}' is {kind_of(found)}, not {KINDS[kind]}.")
        if isinstance(found, str):
            self._check_text(found, name, PlanValueInvalid)
        return found

    def name(self, name: str) -> str | None:
        found: str | None = self.value(name, str)
        if found is not None and not _name.match(found):
            raise PlanNameInvalid(f"{self.where(name)}: '{name}' is {shown(found)}.")
        return found

    def seconds(self, name: str, most: float) -> float | None:
        found = self._fields.get(name)
        if found is None:
            return None
        if type(found) not in (int, float) or not math.isfinite(found) or not 0 < found <= most:
            raise PlanValueInvalid(
                f"{self.where(name)}: '{name}' is {shown(found)}; it is a number of seconds above 0, at most "
                f"{number_text(most)}."
            )
        return float(found)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of different texts."""
        found = self.value(name, list, [])
        seen: set[str] = set()
        for item in found:
            if not isinstance(item, str):
                raise PlanValueInvalid(f"{self.where(name)}: '{name}' lists {kind_of(item)}, not only texts.")
            self._check_text(item, name, PlanValueInvalid)
            if item in seen:
                raise PlanNameTwice(f"{self.where(name)}: {shown(item)} in '{name}'.")
            seen.add(item)
        return tuple(found)

    def command(self, name: str) -> tuple[str, ...]:
        found = self._fields[name]
        if isinstance(found, str):
            raise PlanCommandInvalid(f"{self.where(name)}: '{name}' is one text. Write {as_list(found)}.")
        if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
            raise PlanCommandInvalid(f"{self.where(name)}: '{name}' is {kind_of(found)} that is not a list of texts.")
        if not found or not found[0]:
            raise PlanCommandInvalid(f"{self.where(name)}: '{name}' is empty.")
        if len(found) > ARGUMENTS_MAX or any(len(item.encode()) > ARGUMENT_BYTES_MAX for item in found):
            raise PlanCommandInvalid(
                f"{self.where(name)}: '{name}' has more than {ARGUMENTS_MAX:,} texts, or one of more than "
                f"{ARGUMENT_BYTES_MAX:,} bytes; pass what is long as input."
            )
        for item in found:
            self._check_text(item, name, PlanCommandInvalid)
        return tuple(found)

    def budget(self, name: str, lanes: tuple[str, ...]) -> Mapping[str, int]:
        """Return the limits of a budget's lanes: whole numbers, and never a true or a 1.5."""
        table = PlanTable(self._fields.get(name, {}), (*self.place, name), self.lines)
        table.check_names(lanes)
        for lane in lanes:
            found = table.get(lane)
            if table.has(lane) and (type(found) is not int or not 0 <= found <= BUDGET_MAX):
                raise PlanBudgetInvalid(f"{table.where(lane)}: '{lane}' is {shown(found)}.")
        return {lane: table.get(lane) for lane in lanes if table.has(lane)}

    def _check_text(self, text: str, name: str, refusal: type[PlanInvalid]) -> None:
        if "\0" in text:
            raise refusal(f"{self.where(name)}: '{name}' contains NUL.")


def kind_of(value: object) -> str:
    return {**KINDS, dict: "a table"}.get(type(value), f"a {type(value).__name__}")


def as_list(line: str) -> str:
    """Return a shell line as the list that a plan has instead."""
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    return (
        "["
        + ", ".join(f'"{shown(word)[1:-1]}"' for word in words[:WORDS_SHOWN])
        + ("]" if not words[WORDS_SHOWN:] else ", …]")
    )
