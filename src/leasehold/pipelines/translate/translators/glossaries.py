"""Reading a glossary: pairs of a term and its translation, from CSV, TSV or a JSON object."""

import csv
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from leasehold.errors import Misuse, shown

BYTES_MAX: Final = 1_000_000
TERMS_MAX: Final = 2_000
TERM_LENGTH_MAX: Final = 200
PAIR: Final = 2
_odd: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")  # no term has control characters or halves of characters


class GlossaryInvalid(Misuse, code="GLOSSARY_INVALID"):
    """A glossary is a CSV or TSV file with a term and its translation in each line, or a JSON object of them."""


def read_glossary(path: Path) -> dict[str, str]:
    text = _text(path)
    found = _of_json(path, text) if path.suffix.lower() == ".json" else _of_lines(path, text)
    if not found or len(found) > TERMS_MAX:
        raise GlossaryInvalid(f"{path} has {len(found):,} terms; it needs 1 to {TERMS_MAX:,}.")
    return found


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise GlossaryInvalid(f"There is no file {path}.")
        with path.open("rb") as file:
            content = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise GlossaryInvalid(f"{path} cannot be read: {error.strerror}.") from None
    if len(content) > BYTES_MAX:
        raise GlossaryInvalid(f"{path} has more than {BYTES_MAX:,} bytes.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GlossaryInvalid(f"{path} is no UTF-8 text: {error}.") from None


def _of_json(path: Path, text: str) -> dict[str, str]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GlossaryInvalid(f"{path}: {error}.") from None
    if not isinstance(found, dict):
        raise GlossaryInvalid(f"{path} holds no object.")
    return dict(_checked(path, enumerate(found.items(), start=1)))


def _of_lines(path: Path, text: str) -> dict[str, str]:
    lines = text.splitlines()
    separator = "\t" if path.suffix.lower() in (".tsv", ".tab") or any("\t" in line for line in lines) else ","
    rows = enumerate(csv.reader(lines, delimiter=separator), start=1)
    try:
        kept = [(number, row) for number, row in rows if row and not row[0].startswith("#")]
    except csv.Error as error:  # a field without an end, and what else is no table
        raise GlossaryInvalid(f"{path}: {error}.") from None
    for number, row in kept:
        if len(row) < PAIR:
            raise GlossaryInvalid(f"{path}, line {number}: it has no translation.")
    return dict(_checked(path, ((number, (row[0], row[1])) for number, row in kept)))


def _checked(path: Path, pairs: Iterable[tuple[int, tuple[object, object]]]) -> Iterable[tuple[str, str]]:
    for number, pair in pairs:
        for text in pair:
            if not isinstance(text, str) or not 1 <= len(text.strip()) <= TERM_LENGTH_MAX or _odd.search(text):
                message = f"{shown(text)} is no text of 1 to {TERM_LENGTH_MAX} characters"
                raise GlossaryInvalid(f"{path}, term {number}: {message}.")
        term, translation = map(str, pair)
        yield term.strip(), translation.strip()
