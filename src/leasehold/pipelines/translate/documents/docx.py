"""Word documents: the paragraphs of the body, its tables and text boxes, of headers, footers, footnotes and endnotes.

python-docx decides whether it is a Word document. The members of the zip are read and written here, so that footnotes,
which it does not reach, are translated too. Only paragraphs that change are rewritten, with their style and the formats
of their runs; every other member of the file is copied as it is.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import docx
from docx.opc.exceptions import OpcError
from docx.opc.oxml import serialize_part_xml
from docx.oxml.ns import qn
from docx.oxml.parser import parse_xml

import leasehold.pipelines.translate.documents.docx_runs as runs
from leasehold.pipelines.translate.documents.document import (
    MEMBERS_MAX,
    UNPACKED_BYTES_MAX,
    UNPACKED_XML_BYTES_MAX,
    Document,
    DocumentDamaged,
    DocumentTooLarge,
    number,
)

# Each of these holds paragraphs; the order is that of a reader.
_parts: Final = re.compile(r"word/(document[0-9]*|footnotes|endnotes|header[0-9]*|footer[0-9]*)\.xml\Z")
_order: Final = ("document", "footnotes", "endnotes", "header", "footer")


@dataclass(frozen=True, slots=True)
class DocxDocument(Document):
    """A Word document: the file, and of each paragraph the member it stands in and its place there, from 0."""

    format = "docx"
    content: bytes
    members: Mapping[str, bytes]
    origins: tuple[tuple[str, int], ...]

    def render(self, translations: Mapping[int, str]) -> bytes:
        texts: dict[str, dict[int, str]] = {}
        for position, text in self._changes(translations):
            member, place = self.origins[position]
            texts.setdefault(member, {})[place] = text
        written = {member: _written(self.members[member], spans) for member, spans in texts.items()}
        return _replaced(self.content, written) if written else self.content


def read_docx(name: str, content: bytes) -> DocxDocument:
    members = _texts(content)
    try:
        found = [(member, place, text) for member, xml in members.items() for place, text in _sources(xml)]
    except SyntaxError as error:  # of the XML: lxml's is a kind of Python's
        raise DocumentDamaged(f"As a DOCX: {error}.") from error
    located = ((f"paragraph {place + 1} of {member}", text) for member, place, text in found)
    return DocxDocument(name, number(located), content, members, tuple((member, place) for member, place, _ in found))


def _sources(xml: bytes) -> Iterator[tuple[int, str]]:
    for place, paragraph in enumerate(_parsed(xml).iter(qn("w:p"))):
        if text := runs.source(paragraph):
            yield place, text


def _written(xml: bytes, texts: Mapping[int, str]) -> bytes:
    root = _parsed(xml)
    for place, paragraph in enumerate(list(root.iter(qn("w:p")))):
        if place in texts:
            runs.write(paragraph, texts[place])
    return serialize_part_xml(root)


def _texts(content: bytes) -> dict[str, bytes]:
    """Return the members of a DOCX that hold text, within the limits, in the order they are read in."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            _check_sizes(package.infolist())
            main = docx.Document(io.BytesIO(content)).part
            names = sorted(filter(_parts.match, package.namelist()), key=_rank)
            if main.partname.membername not in names or main.element.tag != qn("w:document"):
                raise DocumentDamaged(f"As a DOCX: {main.partname} is not where Word keeps a document's text.")
            return {name: package.read(name) for name in names}
    except (zipfile.BadZipFile, zlib.error, OpcError, KeyError, ValueError, SyntaxError, NotImplementedError) as error:
        raise DocumentDamaged(f"As a DOCX: {error}.") from error
    except (AttributeError, TypeError, EOFError, OSError, RuntimeError, AssertionError) as error:
        # python-docx finds out only by use that a part is missing or of another kind.
        raise DocumentDamaged(f"As a DOCX: {type(error).__name__}: {error}.") from error


def _parsed(member: bytes) -> Any:
    """Return the root element of a member. A declared entity could stand for text that nobody sees."""
    root = parse_xml(member)
    if root.getroottree().docinfo.doctype:
        raise DocumentDamaged("As a DOCX: it declares a document type, which Word never does.")
    return root


def _replaced(content: bytes, members: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as package, zipfile.ZipFile(made, "w") as target:
        for member in package.infolist():
            target.writestr(member, members.get(member.filename) or package.read(member))
    return made.getvalue()


def _check_sizes(members: list[zipfile.ZipInfo]) -> None:
    # Python's zipfile reads no more of a member than its declared size, so the declared sizes are the real limit.
    total = sum(member.file_size for member in members)
    in_xml = sum(member.file_size for member in members if member.filename.endswith((".xml", ".rels")))
    if len(members) > MEMBERS_MAX:
        raise DocumentTooLarge(f"It is a zip of {len(members):,} files, limit {MEMBERS_MAX:,}.")
    if total > UNPACKED_BYTES_MAX or in_xml > UNPACKED_XML_BYTES_MAX:
        limits = f"{UNPACKED_BYTES_MAX:,}, {UNPACKED_XML_BYTES_MAX:,} of XML"
        raise DocumentTooLarge(f"It unpacks to {total:,} bytes, {in_xml:,} of XML; limits are {limits}.")


def _rank(name: str) -> tuple[int, int, str]:
    found = _parts.match(name)
    part = found[1].rstrip("0123456789") if found else name
    return _order.index(part), len(name), name
