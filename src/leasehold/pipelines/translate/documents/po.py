"""PO catalogues: every entry that is untranslated or fuzzy is a paragraph; of one with plurals, singular and plural.

polib decides whether the file is a catalogue; but it writes files in a layout of its own, so what changes is written
into the file's own lines, and all else stays byte for byte: existing translations, obsolete entries, comments, the
header (its `Language` too, which only the person who runs `msginit` knows). A text that equals its msgid stays
untranslated, which gettext shows as the msgid.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import polib  # type: ignore[import-untyped]

from leasehold.pipelines.translate.documents.document import BOM, DocumentDamaged, Paragraph, changed, lines_of, number
from leasehold.pipelines.translate.documents.po_entries import PoEntry, entries

_charset: Final = re.compile(r"charset=([\w.-]+)")
_plurals: Final = re.compile(r"nplurals\s*=\s*([0-9])")
# Line ends to polib, and to other programs in Python, but not to gettext.
_separator: Final = re.compile(r"[\x1c-\x1e\x85\u2028\u2029]")
_flag: Final = re.compile(r",\s*fuzzy\b")
# Templates name no charset until somebody begins to translate them.
_readable: Final = ("utf-8", "utf8", "charset")
_forms_without_plural: Final = 1


@dataclass(frozen=True, slots=True)
class PoDocument:
    """A catalogue: its lines, and of which entry (and whether of its plural) each paragraph is the msgid."""

    name: str
    paragraphs: tuple[Paragraph, ...]
    lines: tuple[str, ...]
    origins: tuple[tuple[PoEntry, bool], ...]
    forms: int
    """How many plural forms the language has, by the header."""

    @property
    def format(self) -> str:
        """Which rules of `protect` are its own."""
        return "po"

    def render(self, translations: Mapping[int, str]) -> bytes:
        """See `Document.render`. A fuzzy entry that is translated is fuzzy no more."""
        lines = dict(enumerate(self.lines))
        settled: dict[PoEntry, dict[bool, str]] = {}
        for paragraph, (entry, is_plural) in zip(self.paragraphs, self.origins, strict=True):
            text = changed(paragraph, translations)
            if text is not None:
                settled.setdefault(entry, {})[is_plural] = _ends_as(paragraph.source, text)
        for entry, texts in settled.items():
            self._write(lines, entry, texts)
        return "".join(lines.values()).encode()

    def _write(self, lines: dict[int, str], entry: PoEntry, texts: dict[bool, str]) -> None:
        if entry.plural is None:
            _replace(lines, entry.values[0], "msgstr", texts[False])
        else:
            for form, place in enumerate(entry.values):
                text = texts.get(form > 0 or self.forms == _forms_without_plural)
                if text is not None:
                    _replace(lines, place, f"msgstr[{form}]", text)
        for line in entry.flags:
            rest = _flag.sub("", lines[line])
            lines[line] = rest if rest.strip() != "#" else ""
        for line in entry.previous:
            lines[line] = ""


def read_po(name: str, text: str) -> PoDocument:
    """Find the entries of a catalogue that want a translation."""
    body = text.removeprefix(BOM)
    try:
        catalogue = polib.pofile(body + "\n")  # a name of a file would be opened, and none has a line end
    except (OSError, ValueError, IndexError) as error:
        raise DocumentDamaged(f"As a PO file: {error}.") from error
    lines = lines_of(text)
    found = list(entries(lines))
    _check(catalogue, found)
    forms = int(match[1]) if (match := _plurals.search(catalogue.metadata.get("Plural-Forms", ""))) else 2
    origins = [origin for entry in found for origin in _origins(entry, forms)]
    located = ((f"line {entry.line + 1}", entry.text(is_plural=is_plural)) for entry, is_plural in origins)
    return PoDocument(name, number(located), tuple(lines), tuple(origins), forms)


def _check(catalogue: polib.POFile, found: list[PoEntry]) -> None:
    charset = _charset.search(catalogue.metadata.get("Content-Type", ""))
    if charset and charset[1].lower() not in _readable:
        raise DocumentDamaged(f"Its header declares charset={charset[1]}; convert it with `msgconv -t UTF-8`.")
    known = sum(1 for entry in catalogue if not entry.obsolete)
    mine = sum(1 for entry in found if entry.msgid)
    if known != mine:
        raise DocumentDamaged(f"It has {known:,} entries, but {mine:,} can be located; run it through `msgcat`.")


def _origins(entry: PoEntry, forms: int) -> Iterator[tuple[PoEntry, bool]]:
    if not entry.is_wanting:
        return
    if entry.plural is None or forms != _forms_without_plural:
        yield entry, False
    if entry.plural is not None:
        yield entry, True


def _ends_as(msgid: str, text: str) -> str:
    """Begin and end with a line break if and only if the msgid does: msgfmt refuses anything else."""
    body = _separator.sub(" ", text).strip("\n")
    return "\n" * msgid.startswith("\n") + body + "\n" * msgid.endswith("\n")


def _replace(lines: dict[int, str], place: range, keyword: str, text: str) -> None:
    first = lines[place.start]
    ending = first[len(first.rstrip("\r\n")) :]
    pieces = lines_of(text.replace("\r\n", "\n").replace("\r", "\n"))
    quoted = [f'"{polib.escape(piece)}"' for piece in (pieces if len(pieces) == 1 else ["", *pieces])]
    lines[place.start] = f"{keyword} " + (ending or "\n").join(quoted) + ending
    for rest in place[1:]:
        lines[rest] = ""
