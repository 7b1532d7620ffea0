"""What every format has in common: a document is paragraphs and whatever stands around them.

A translator sees paragraphs only. The rest of a file, its code, its front matter, its images, is written back as it
was read. Nothing here reads or writes files but `reading`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from leasehold.errors import Misuse
from leasehold.pipelines.translate.documents.limits import PARAGRAPH_BYTES_MAX, PARAGRAPHS_MAX

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


class Document(Protocol):
    """A document that was read whole. `format` is markdown, text, docx or po."""

    @property
    def name(self) -> str: ...

    @property
    def format(self) -> str: ...

    @property
    def paragraphs(self) -> tuple[Paragraph, ...]: ...

    def render(self, translations: Mapping[int, str]) -> bytes:
        """Return the document with these texts, by index of their paragraphs.

        A paragraph without one, with a blank one, or with one that equals its source stays byte for byte.
        """


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


def changed(paragraph: Paragraph, translations: Mapping[int, str]) -> str | None:
    """Return the text that replaces a paragraph, fit to be encoded, or None if it stays as it is."""
    text = _lone.sub("\ufffd", translations.get(paragraph.index, ""))
    return None if text == paragraph.source or not text.strip() else text


def lines_of(text: str) -> list[str]:
    """Divide a text behind its line ends (LF, CRLF, CR, and no other), which stay; joined again it is the same."""
    ends = [found.end() for found in _break.finditer(text)]
    starts = [0, *ends]
    return [text[start:end] for start, end in zip(starts, [*ends, len(text)], strict=True) if start < end]


def one_line(text: str) -> str:
    """Join the lines of a translation, where its format has room for one."""
    return _vertical.sub(" ", text).strip()
