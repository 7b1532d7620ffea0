"""Texts for people. Text from outside passes `printable` before it is printed.

Job data may hold terminal escapes, line breaks or bidirectional controls that would rewrite the screen; each becomes
a visible escape. JSON for programs is pure ASCII, so it carries the same data without any of these.
"""

import json
import unicodedata
from datetime import UTC, datetime
from typing import Any, Final

from leasehold.errors import PayloadInvalid
from leasehold.insight.wording import duration

CUT: Final = "…"
DIGITS_MAX: Final = 9


def printable(text: object) -> str:
    """Return a text with every character that is not plainly printable shown as an escape."""
    plain = str(text)
    if plain.isprintable():
        return plain
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in plain)


def json_line(value: Any) -> str:
    return printable(json.dumps(value, ensure_ascii=False, separators=(", ", ": ")))


def json_document(value: Any) -> str:
    """Return a JSON value for programs: ASCII only, so that no escape in it can act on a terminal."""
    return json.dumps(value, indent=2)


def display_width(text: str) -> int:
    """Count the columns a text takes on a terminal."""
    return sum(_character_width(one) for one in text) if not text.isascii() else len(text)


def truncate(text: str, most: int) -> str:
    """Return a text that takes at most `most` columns; what is missing shows as an ellipsis."""
    if display_width(text) <= most:
        return text
    kept, left = "", most - 1
    for one in text:
        left -= _character_width(one)
        if left < 0:
            break
        kept += one
    return kept + CUT if most > 0 else ""


def ago(moment: datetime, now: datetime | None = None) -> str:
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    return f"{duration(max(0, round(seconds)))} ago"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def stage_text(stage: str | None, segment: int | None) -> str:
    """Name a stage or a segment of it; people count segments from 1, and JSON for programs from 0."""
    return stage or "" if segment is None else f"{stage} [{segment + 1}]"


def failure_text(failure: dict[str, Any] | None) -> str:
    return "" if failure is None else printable(f"{failure.get('error_class')}: {failure.get('message')}")


def utc(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def parse_count(text: str) -> int | None:
    """Parse a whole number; None if it is not one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX else None


def _character_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise PayloadInvalid(f"The result is not JSON: {error}.") from None
