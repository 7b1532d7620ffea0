"""Plain text: paragraphs stand between blank lines.

A translator gets a paragraph as one line. A translation is written with the indents, the width, the kind of line ends
and the white space around it that the source had.
"""

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from leasehold.pipelines.translate.documents.document import BOM, Document, lines_of, number, one_line

_indent: Final = re.compile(r"[^\S\r\n]*")
_edge: Final = re.compile(r"\s*\Z")


@dataclass(frozen=True, slots=True)
class TextDocument(Document):
    """A text, cut into what is translated and what stands between: `pieces` joined are the file."""

    format = "text"
    pieces: tuple[str, ...]
    """Between, paragraph, between, …, paragraph, between."""

    def render(self, translations: Mapping[int, str]) -> bytes:
        written = list(self.pieces)
        for position, text in self._changes(translations):
            place = 2 * position + 1
            written[place] = _laid_out(text, written[place])
        return "".join(written).encode()


def read_text(name: str, text: str) -> TextDocument:
    body = text.removeprefix(BOM)
    pieces = [text[: len(text) - len(body)]]
    spans: list[tuple[str, str]] = []
    line_number = 1
    for is_text, group in groupby(lines_of(body), lambda line: bool(line.strip())):
        lines = list(group)
        if is_text:
            spans.append((f"line {line_number}", " ".join(line.strip() for line in lines)))
            pieces += "".join(lines), ""
        else:
            pieces[-1] += "".join(lines)
        line_number += len(lines)
    return TextDocument(name, number(spans), tuple(pieces))


def _laid_out(text: str, original: str) -> str:
    lines = lines_of(original)
    after = _edge.search(original)
    indents = [found.group() for line in lines[:2] if (found := _indent.match(line))]
    flat = one_line(text)
    if len(lines) > 1:
        width = max(len(line.rstrip()) for line in lines)
        ending = "\r\n" if lines[0].endswith("\r\n") else lines[0][-1]
        wrapped = textwrap.wrap(flat, width, break_long_words=False, break_on_hyphens=False, expand_tabs=False)
        flat = f"{ending}{indents[1]}".join(wrapped)
    return indents[0] + flat + (after.group() if after else "")
