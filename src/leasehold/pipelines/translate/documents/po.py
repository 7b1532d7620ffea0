"""PO catalogues: every entry that is untranslated or fuzzy is a paragraph; of one with plurals, singular and plural.

polib decides whether the file is a catalogue; but it writes files in a layout of its own, so what changes is written
into the file's own lines, and all else stays byte for byte: existing translations, obsolete entries, comments, the
header (its `Language` too, which only the person who runs `msginit` knows). A text that equals its msgid stays
untranslated, which gettext shows as the msgid.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import polib  # type: ignore[import-untyped]

from leasehold.pipelines.translate.documents.document import BOM, Document, DocumentDamaged, lines_of, number

_charset: Final = re.compile(r"charset=([\w.-]+)")
_plurals: Final = re.compile(r"nplurals\s*=\s*([0-9])")
# Line ends to polib, and to other programs in Python, but not to gettext.
_separator: Final = re.compile(r"[\x1c-\x1e\x85\u2028\u2029]")
_flag: Final = re.compile(r",\s*fuzzy\b")
# Templates name no charset until somebody begins to translate them.
_readable: Final = ("utf-8", "utf8", "charset")
_forms_without_plural: Final = 1
_keyword: Final = re.compile(r'\s*(?P<name>msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s*(?P<quoted>".*")\s*\Z')
_continued: Final = re.compile(r'\s*(?P<quoted>".*")\s*\Z')
_another: Final = ("#", "msgctxt", "msgid ", 'msgid"', "msgid\t")  # what the next entry begins with
_fuzzy: Final = re.compile(r"#,.*\bfuzzy\b")


@dataclass(frozen=True, slots=True)
class PoEntry:
    """One entry that is not obsolete. Numbers of lines count from 0."""

    line: int
    msgid: str
    plural: str | None
    values: tuple[range, ...]
    """The lines of each msgstr, plural forms in their order."""
    flags: tuple[int, ...]
    """The lines that call it fuzzy."""
    previous: tuple[int, ...]
    """The lines with the msgid that a fuzzy translation was made for."""
    is_wanting: bool


@dataclass(slots=True)
class _Draft:
    """An entry as far as it was read."""

    strings: dict[str, str] = field(default_factory=dict)
    spans: dict[str, range] = field(default_factory=dict)
    flags: list[int] = field(default_factory=list)
    previous: list[int] = field(default_factory=list)
    last: str = ""

    @property
    def is_whole(self) -> bool:
        return any(name.startswith("msgstr") for name in self.strings)

    def take(self, place: int, line: str) -> None:
        text = line.strip()
        if text.startswith("#~"):
            # An obsolete entry: the flags above were its own.
            self.flags.clear()
            self.previous.clear()
        elif text.startswith("#,") and _fuzzy.match(text):
            self.flags.append(place)
        elif text.startswith("#|"):
            self.previous.append(place)
        elif found := _keyword.match(line):
            self.last = found["name"]
            self.strings[self.last] = _unquoted(found["quoted"])
            self.spans[self.last] = range(place, place + 1)
        elif self.last and (found := _continued.match(line)):
            self.strings[self.last] += _unquoted(found["quoted"])
            self.spans[self.last] = range(self.spans[self.last].start, place + 1)

    def entry(self) -> PoEntry:
        values = sorted(
            (name for name in self.strings if name.startswith("msgstr")),
            key=lambda name: int(name[7:-1]) if "[" in name else 0,
        )
        msgid = self.strings.get("msgid", "")
        has_gap = not all(self.strings[name] for name in values)
        return PoEntry(
            line=self.spans["msgid"].start if "msgid" in self.spans else 0,
            msgid=msgid,
            plural=self.strings.get("msgid_plural"),
            values=tuple(self.spans[name] for name in values),
            flags=tuple(self.flags),
            previous=tuple(self.previous),
            is_wanting=bool(msgid.strip()) and (has_gap or bool(self.flags)),
        )


def entries(lines: Sequence[str]) -> Iterator[PoEntry]:
    """Yield the entries that are not obsolete, the header among them, in order."""
    draft = _Draft()
    for place, line in enumerate(lines):
        if draft.is_whole and line.lstrip("\ufeff \t").startswith(_another):
            yield draft.entry()
            draft = _Draft()
        draft.take(place, line)
    if draft.is_whole:
        yield draft.entry()


@dataclass(frozen=True, slots=True)
class PoDocument(Document):
    """A catalogue: its lines, and of which entry (and whether of its plural) each paragraph is the msgid."""

    format = "po"
    lines: tuple[str, ...]
    origins: tuple[tuple[PoEntry, bool], ...]
    forms: int
    """How many plural forms the language has, by the header."""

    def render(self, translations: Mapping[int, str]) -> bytes:
        """See `Document.render`. A fuzzy entry that is translated is fuzzy no more."""
        lines = dict(enumerate(self.lines))
        written: dict[PoEntry, dict[bool, str]] = {}
        for position, text in self._changes(translations):
            entry, is_plural = self.origins[position]
            written.setdefault(entry, {})[is_plural] = _ends_as(self.paragraphs[position].source, text)
        for entry, texts in written.items():
            self._write(lines, entry, texts)
        return "".join(lines.values()).encode()

    def _write(self, lines: dict[int, str], entry: PoEntry, texts: dict[bool, str]) -> None:
        if entry.plural is None:
            _replace(lines, entry.values[0], "msgstr", texts[False])
        else:
            for form, place in enumerate(entry.values):
                if (text := texts.get(form > 0 or self.forms == _forms_without_plural)) is not None:
                    _replace(lines, place, f"msgstr[{form}]", text)
        for line in entry.flags:
            rest = _flag.sub("", lines[line])
            lines[line] = rest if rest.strip() != "#" else ""
        for line in entry.previous:
            lines[line] = ""


def read_po(name: str, text: str) -> PoDocument:
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
    texts = ((entry.plural or "") if is_plural else entry.msgid for entry, is_plural in origins)
    located = ((f"line {entry.line + 1}", text) for (entry, _), text in zip(origins, texts, strict=True))
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


def _unquoted(quoted: str) -> str:
    text: str = polib.unescape(quoted[1:-1])
    return text
