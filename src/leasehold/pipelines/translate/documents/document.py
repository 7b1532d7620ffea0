"""What every format has in common: a document is paragraphs and whatever stands around them.

A translator sees paragraphs only. The rest of a file, its code, its front matter, its images, is written back as it
was read.
"""

import os
import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Final

from leasehold.errors import Misuse

# What is larger is refused before any work is done, with what to do instead.
DOCUMENT_BYTES_MAX: Final = 20 * 1024 * 1024
PARAGRAPHS_MAX: Final = 100_000
PARAGRAPH_BYTES_MAX: Final = 60_000  # a job holds a paragraph several times, and a record of all its candidates
# A DOCX is a zip: the sizes that it declares, which are also all that is read of it.
UNPACKED_BYTES_MAX: Final = 200 * 1024 * 1024
UNPACKED_XML_BYTES_MAX: Final = 40 * 1024 * 1024
MEMBERS_MAX: Final = 10_000
# How deep block quotes and lists may stand inside each other.
NESTING_MAX: Final = 100
_lone: Final = re.compile(r"[\ud800-\udfff]")
_break: Final = re.compile(r"\r\n?|\n")
# Whatever some reader of the document takes for the end of a line. A space that does not break is none of it.
_vertical: Final = re.compile(r"[ \t]*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+[ \t]*")
BOM: Final = "\ufeff"


class DocumentInvalid(Misuse, code="DOCUMENT_INVALID"):
    """The document cannot be translated as it stands."""


class DocumentMissing(DocumentInvalid, code="DOCUMENT_MISSING"):
    """The document cannot be opened; check its name and its permissions."""


class DocumentNotAFile(DocumentInvalid, code="DOCUMENT_NOT_A_FILE"):
    """Only regular files are read, no folders, pipes or devices; name a file."""


class DocumentUnsupported(DocumentInvalid, code="DOCUMENT_UNSUPPORTED"):
    """The ending of a document's name gives its format; save it as one of those that can be read."""


class DocumentTooLarge(DocumentInvalid, code="DOCUMENT_TOO_LARGE"):
    """The document is larger than its limit; split it and translate its parts."""


class DocumentBinary(DocumentInvalid, code="DOCUMENT_BINARY"):
    """The file holds no text; export it as text, or correct the ending of its name."""


class DocumentNotUtf8(DocumentInvalid, code="DOCUMENT_NOT_UTF8"):
    """Text is read as UTF-8 only; convert the file, for example with `iconv -t UTF-8`."""


class DocumentEmpty(DocumentInvalid, code="DOCUMENT_EMPTY"):
    """The document has no paragraph to translate; check that it is the right file."""


class ParagraphTooLong(DocumentInvalid, code="PARAGRAPH_TOO_LONG"):
    """A paragraph is longer than its limit; divide it, for example by blank lines."""


class DocumentDamaged(DocumentInvalid, code="DOCUMENT_DAMAGED"):
    """The file is not of the format that its name ends in; open it in the program that made it and save it again."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One piece of text that is translated by itself. `index` counts from 1, in document order."""

    index: int
    source: str


@dataclass(frozen=True, slots=True)
class Document(ABC):
    """A document that was read whole. `format` is markdown, text, docx or po."""

    name: str
    paragraphs: tuple[Paragraph, ...]
    format: ClassVar[str]

    @abstractmethod
    def render(self, translations: Mapping[int, str]) -> bytes:
        """Return the document with these texts, by index of their paragraphs.

        A paragraph without one, with a blank one, or with one that equals its source stays byte for byte.
        """

    def _changes(self, translations: Mapping[int, str]) -> Iterator[tuple[int, str]]:
        """Yield the positions, from 0, of the paragraphs that change, with their new texts, fit to be encoded."""
        for position, paragraph in enumerate(self.paragraphs):
            text = _lone.sub("\ufffd", translations.get(paragraph.index, ""))
            if text != paragraph.source and text.strip():
                yield position, text


def read_content(path: Path) -> bytes:
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


def decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DocumentNotUtf8("It begins with the byte order mark of UTF-16.")
    if (zero := content.find(0)) >= 0:
        raise DocumentBinary(f"There is a NUL at byte {zero:,}.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DocumentNotUtf8(f"Byte {error.start:,} (line {line:,}): {error.reason}.") from error


def number(spans: Iterable[tuple[str, str]]) -> tuple[Paragraph, ...]:
    """Make paragraphs of (place, text), within the limits; the place is only for error messages."""
    made: list[Paragraph] = []
    for where, source in spans:
        if (size := len(source.encode("utf-8", "replace"))) > PARAGRAPH_BYTES_MAX:
            raise ParagraphTooLong(f"At {where}: {size:,} bytes, limit {PARAGRAPH_BYTES_MAX:,}.")
        if len(made) == PARAGRAPHS_MAX:
            raise DocumentTooLarge(f"It has more than {PARAGRAPHS_MAX:,} paragraphs, from {where} on.")
        made.append(Paragraph(len(made) + 1, source))
    if not made:
        raise DocumentEmpty
    return tuple(made)


def lines_of(text: str) -> list[str]:
    """Divide a text behind its line ends (LF, CRLF, CR, and no other), which stay; joined again it is the same."""
    ends = [found.end() for found in _break.finditer(text)]
    return [text[start:end] for start, end in pairwise([0, *ends, len(text)]) if start < end]


def one_line(text: str) -> str:
    """Join the lines of a translation, where its format has room for one."""
    return _vertical.sub(" ", text).strip()
