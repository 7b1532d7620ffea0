"""The entries of a PO file with their line numbers, which polib does not give."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import polib  # type: ignore[import-untyped]

_keyword: Final = re.compile(r'\s*(?P<name>msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s*(?P<quoted>".*")\s*\Z')
_continued: Final = re.compile(r'\s*(?P<quoted>".*")\s*\Z')
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

    def text(self, *, is_plural: bool) -> str:
        """Return what is to be translated."""
        return self.plural if is_plural and self.plural is not None else self.msgid


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
        values = sorted((name for name in self.strings if name.startswith("msgstr")), key=_form)
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
        if draft.is_whole and _begins_another(line):
            yield draft.entry()
            draft = _Draft()
        draft.take(place, line)
    if draft.is_whole:
        yield draft.entry()


def _begins_another(line: str) -> bool:
    return line.lstrip("\ufeff \t").startswith(("#", "msgctxt", "msgid ", 'msgid"', "msgid\t"))


def _unquoted(quoted: str) -> str:
    text: str = polib.unescape(quoted[1:-1])
    return text


def _form(name: str) -> int:
    return int(name[7:-1]) if "[" in name else 0
