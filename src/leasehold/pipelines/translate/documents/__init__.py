"""The documents of `leasehold translate`: read into paragraphs, and written back with translations in their place.

    document = read_document(Path("chapter.md"))
    protected = protect(document.paragraphs[0].source, document.format)
    text = restore(respace(translated(protected.text), protected), protected.kept)
    Path("capítulo.md").write_bytes(document.render({1: text}))

Whatever cannot be translated is refused here, before anything is written anywhere. No database, no translator.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from leasehold.pipelines.translate.documents.document import (
    DOCUMENT_BYTES_MAX,
    Document,
    DocumentBinary,
    DocumentEmpty,
    DocumentMissing,
    DocumentNotAFile,
    DocumentNotUtf8,
    DocumentTooLarge,
    DocumentUnsupported,
)
from leasehold.pipelines.translate.documents.docx import read_docx
from leasehold.pipelines.translate.documents.markdown import read_markdown
from leasehold.pipelines.translate.documents.po import read_po
from leasehold.pipelines.translate.documents.text import read_text

_texts: Final[dict[str, Callable[[str, str], Document]]] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".txt": read_text,
    ".text": read_text,
    ".po": read_po,
    ".pot": read_po,
}
ENDINGS: Final = (*_texts, ".docx")


def read_document(path: Path) -> Document:
    """Read a document whole, or raise `DocumentInvalid`. The ending of the name gives the format."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise DocumentUnsupported(f"{path.name}: supported are {', '.join(ENDINGS)}.")
    content = _content(path)
    if ending == ".docx":
        return read_docx(path.name, content)
    return _texts[ending](path.name, _decoded(content))


def _content(path: Path) -> bytes:
    try:
        # Not blocking: a pipe that nobody writes to would hold the caller for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise DocumentMissing(f"{path}: {getattr(error, 'strerror', None) or error}.") from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise DocumentNotAFile(f"Not a regular file: {path}.")
        if found.st_size > DOCUMENT_BYTES_MAX:
            raise DocumentTooLarge(f"{path}: {found.st_size:,} bytes, limit {DOCUMENT_BYTES_MAX:,}.")
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(DOCUMENT_BYTES_MAX + 1)
    finally:
        os.close(descriptor)
    if len(content) > DOCUMENT_BYTES_MAX:
        raise DocumentTooLarge(f"{path} grows while it is read; limit {DOCUMENT_BYTES_MAX:,} bytes.")
    if not content:
        raise DocumentEmpty(f"{path} has 0 bytes.")
    return content


def _decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DocumentNotUtf8("It begins with the byte order mark of UTF-16.")
    zero = content.find(0)
    if zero >= 0:
        raise DocumentBinary(f"There is a NUL at byte {zero:,}.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DocumentNotUtf8(f"Byte {error.start:,} (line {line:,}): {error.reason}.") from error
