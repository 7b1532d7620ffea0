"""Word documents: the paragraphs of the body, its tables and text boxes, of headers, footers, footnotes and endnotes.

Only paragraphs that change are rewritten, with their style and the formats of their runs; images, styles and every
other member of the file are copied as they are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from docx.oxml.ns import qn

import leasehold.pipelines.translate.documents.docx_package as package
import leasehold.pipelines.translate.documents.docx_runs as runs
from leasehold.pipelines.translate.documents.document import DocumentDamaged, Paragraph, changed, number


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a paragraph stands: the member of the file, and which of its paragraphs, from 0."""

    member: str
    place: int


@dataclass(frozen=True, slots=True)
class DocxDocument:
    """A Word document: the file, and where its paragraphs with text stand in it."""

    name: str
    paragraphs: tuple[Paragraph, ...]
    content: bytes
    members: Mapping[str, bytes]
    origins: tuple[Origin, ...]

    @property
    def format(self) -> str:
        """Which rules of `protect` are its own."""
        return "docx"

    def render(self, translations: Mapping[int, str]) -> bytes:
        """See `Document.render`."""
        texts: dict[str, dict[int, str]] = {}
        for paragraph, origin in zip(self.paragraphs, self.origins, strict=True):
            text = changed(paragraph, translations)
            if text is not None:
                texts.setdefault(origin.member, {})[origin.place] = text
        written = {member: _written(self.members[member], spans) for member, spans in texts.items()}
        return package.replaced(self.content, written) if written else self.content


def read_docx(name: str, content: bytes) -> DocxDocument:
    """Find the paragraphs of a Word document."""
    members = package.texts(content)
    try:
        found = [(origin, text) for member, xml in members.items() for origin, text in _sources(member, xml)]
    except SyntaxError as error:  # of the XML: lxml's is a kind of Python's
        raise DocumentDamaged(f"As a DOCX: {error}.") from error
    located = ((f"paragraph {origin.place + 1} of {origin.member}", text) for origin, text in found)
    return DocxDocument(name, number(located), content, members, tuple(origin for origin, _ in found))


def _sources(member: str, xml: bytes) -> Iterator[tuple[Origin, str]]:
    for place, paragraph in enumerate(_paragraphs(package.parsed(xml))):
        if text := runs.source(paragraph):
            yield Origin(member, place), text


def _written(xml: bytes, texts: Mapping[int, str]) -> bytes:
    root = package.parsed(xml)
    for place, paragraph in enumerate(_paragraphs(root)):
        if place in texts:
            runs.write(paragraph, texts[place])
    return package.serialized(root)


def _paragraphs(root: Any) -> list[Any]:
    return list(root.iter(qn("w:p")))
