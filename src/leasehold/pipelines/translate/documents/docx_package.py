"""The zip that a DOCX is: which of its members hold text, and the same zip with some members replaced.

python-docx decides whether it is a Word document. Members are read and written here, so that footnotes, which it
does not reach, are translated too, and what nobody translates is copied as it is.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, Final

import docx
from docx.opc.exceptions import OpcError
from docx.opc.oxml import serialize_part_xml
from docx.oxml.ns import qn
from docx.oxml.parser import parse_xml

from leasehold.pipelines.translate.documents.document import DocumentDamaged, DocumentTooLarge
from leasehold.pipelines.translate.documents.limits import MEMBERS_MAX, UNPACKED_BYTES_MAX, UNPACKED_XML_BYTES_MAX

# Each of these holds paragraphs; the order is that of a reader.
_parts: Final = re.compile(r"word/(document[0-9]*|footnotes|endnotes|header[0-9]*|footer[0-9]*)\.xml\Z")
_order: Final = ("document", "footnotes", "endnotes", "header", "footer")


def texts(content: bytes) -> dict[str, bytes]:
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


def parsed(member: bytes) -> Any:
    """Return the root element of a member. A declared entity could stand for text that nobody sees."""
    root = parse_xml(member)
    if root.getroottree().docinfo.doctype:
        raise DocumentDamaged("As a DOCX: it declares a document type, which Word never does.")
    return root


def serialized(root: Any) -> bytes:
    """Return the member of a root element."""
    return serialize_part_xml(root)


def replaced(content: bytes, members: Mapping[str, bytes]) -> bytes:
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
