"""Markdown: paragraphs, headings, list items, block quotes, table cells and footnotes are translated.

Code, front matter, HTML blocks, link definitions and all that stands around a text stay byte for byte. A translator
gets a paragraph as one line, divided only by hard breaks; whatever a translation holds, the blocks of the document stay
what and where they were. The characters inside a paragraph are the translation's own: `protect` keeps its markup.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from markdown_it.common.utils import normalizeReference

from leasehold.pipelines.translate.documents.document import BOM, Document, number
from leasehold.pipelines.translate.documents.markdown_blocks import MarkdownSpan, fitted, front_matter, parsed_spans

_hard_end: Final = re.compile(r"(?P<ending> {2,}|(?<!\\)(?:\\\\)*\\)(?:\r\n?|\n)\Z")
_shortcut: Final = re.compile(
    r"(?<!`)(?P<ticks>`{1,32})(?!`)[\s\S]{1,20000}?(?<!`)(?P=ticks)(?!`)|\\[!-/:-@\[-`{-~]|<[^<>\s][^<>]{0,2000}>"
    r"|(?<!\])\[(?P<label>[^\[\]^][^\[\]]{0,998})\](?:\[\])?(?![\[(:])"
)


@dataclass(frozen=True, slots=True)
class MarkdownDocument(Document):
    """A Markdown file: `head` (a byte order mark, front matter), then `text`, in which the paragraphs have places."""

    format = "markdown"
    head: str
    text: str
    spans: tuple[MarkdownSpan, ...]

    def render(self, translations: Mapping[int, str]) -> bytes:
        """Write the document with blocks equal to the source's; see `Document.render`."""
        parts = [self.head]
        end = 0
        for position, text in self._changes(translations):
            place = self.spans[position]
            parts += self.text[end : place.start], fitted(text, place)
            end = place.end
        return "".join([*parts, self.text[end:]]).encode()


def read_markdown(name: str, text: str) -> MarkdownDocument:
    body = text.removeprefix(BOM)
    body = body[len(front_matter(body)) :]
    head = text[: len(text) - len(body)]
    found, labels = parsed_spans(body)
    lines_before = head.count("\n") + 1
    located = ((f"line {place.line + lines_before}", _full_references(_source(place), labels)) for place in found)
    return MarkdownDocument(name, number(located), head, body, found)


def _source(place: MarkdownSpan) -> str:
    """Join a text's lines; what divides them is a space, unless it is a hard break."""
    parts: list[str] = []
    for line in place.lines[:-1]:
        hard = _hard_end.search(line)
        parts.append(line[: hard.end("ending")] + "\n" if hard else line.rstrip() + " ")
    return "".join([*parts, place.lines[-1]])


def _full_references(source: str, labels: Mapping[str, object]) -> str:
    """Write `[text]` and `[text][]` as `[text][text]` where that is a link: its text can then be translated."""

    def piece(found: re.Match[str]) -> str:
        label = found["label"]
        is_link = label is not None and normalizeReference(label) in labels
        return f"[{label}][{label}]" if is_link else found.group()

    return _shortcut.sub(piece, source) if labels else source
