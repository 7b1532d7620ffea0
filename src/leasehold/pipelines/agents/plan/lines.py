"""On which line of a TOML text a field stands, which the standard parser does not report.

A scan of the lines, good for texts that the parser has accepted. It knows table headers, keys (bare, quoted, dotted)
and strings of several lines. Its limits: a field inside an inline table, or inside a list of several lines, has the
line on which the value begins; where a table is opened twice, the first line counts.
"""

import re
from collections.abc import Iterator
from typing import Final

Place = tuple[str | int, ...]

_BARE: Final = r"[A-Za-z0-9_-]+"
_QUOTED: Final = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|' + r"'[^'\n]*+'"
_KEY: Final = rf"(?:{_BARE}|{_QUOTED})(?:\s*\.\s*(?:{_BARE}|{_QUOTED}))*"
_part: Final = re.compile(rf"{_BARE}|{_QUOTED}")
_header: Final = re.compile(rf"\s*(\[\[?)\s*({_KEY})\s*\]")
_field: Final = re.compile(rf"\s*({_KEY})\s*=")
# What changes how the rest of a value is read: strings, comments, brackets.
_token: Final = re.compile(rf'"""|\'\'\'|{_QUOTED}|#.*|[\[\]{{}}]')


class PlanLines:
    """Finds the line of a field, such as `("child", 2, "command")`, or of what contains it."""

    def __init__(self, text: str) -> None:
        self._found: dict[Place, int] = {}
        for place, line in _places(text):
            self._found.setdefault(place, line)

    def name(self, *place: str | int) -> str:
        """Return what a refusal begins with."""
        return f"Line {self.of(*place)}"

    def of(self, *place: str | int) -> int:
        """Return the line, counted from 1, of the innermost part of this place that the scan has found."""
        for length in range(len(place), 0, -1):
            if found := self._found.get(place[:length]):
                return found
        return 1


class NoLines(PlanLines):
    """Stands in for the lines of fields that come from a request, and from no file."""

    def __init__(self) -> None:
        super().__init__("")

    def name(self, *place: str | int) -> str:
        return f"Field '{place[-1]}'" if place else "The request"


def _places(text: str) -> Iterator[tuple[Place, int]]:
    tables: dict[str, int] = {}
    table: Place = ()
    for line, statement in _statements(text):
        if header := _header.match(statement):
            names = _names(header[2])
            if header[1] == "[[":
                tables[names[0]] = tables.get(names[0], -1) + 1
            table = _table(names, tables)
            yield table, line
        elif field := _field.match(statement):
            names = _names(field[1])
            yield from ((table + tuple(names[:length]), line) for length in range(1, len(names) + 1))


def _names(key: str) -> list[str]:
    return [name if name[0] not in "\"'" else name[1:-1] for name in _part.findall(key)]


def _table(names: list[str], tables: dict[str, int]) -> Place:
    first, *rest = names
    return (first, tables[first], *rest) if first in tables else (first, *rest)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the first line of each statement with its number; the other lines of a value are passed over."""
    position, line = 0, 1
    while position < len(text):
        yield line, text[position : _end_of_line(text, position)]
        after = _end_of_statement(text, position)
        line += text.count("\n", position, after)
        position = after


def _end_of_statement(text: str, start: int) -> int:
    """Return where the line after a statement begins."""
    position, depth = start, 0
    while position < len(text):
        end = _end_of_line(text, position)
        found = _token.search(text, position, end)
        if found is None:
            position = end + 1
            if depth <= 0:
                break
            continue
        position = found.end()
        if found[0] in {'"""', "'''"}:
            position = _end_of_string(text, position, found[0])
        depth += (found[0] in {"[", "{"}) - (found[0] in {"]", "}"})
    return position


def _end_of_line(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _end_of_string(text: str, position: int, mark: str) -> int:
    """Return where a string of several lines ends; up to two more quotation marks may belong to it."""
    while (found := text.find(mark, position)) >= 0:
        backslashes = found - len(text[position:found].rstrip("\\")) - position
        if mark == '"""' and backslashes % 2:
            position = found + 1
            continue
        end = found + len(mark)
        return end + len(text[end : end + 2]) - len(text[end : end + 2].lstrip(mark[0]))
    return len(text)
