"""The documents of `leasehold translate`: read into paragraphs, and written back with translations in their place.

    document = read_document(Path("chapter.md"))
    protected = protect(document.paragraphs[0].source, document.format)
    text = restore(respace(translated(protected.text), protected), protected.kept)
    Path("capítulo.md").write_bytes(document.render({1: text}))

Whatever cannot be translated is refused here, before anything is written anywhere. No database, no translator.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from leasehold.pipelines.translate.documents.document import Document, DocumentUnsupported, decoded, read_content
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
    if (ending := path.suffix.lower()) not in ENDINGS:
        raise DocumentUnsupported(f"{path.name}: supported are {', '.join(ENDINGS)}.")
    content = read_content(path)
    return read_docx(path.name, content) if ending == ".docx" else _texts[ending](path.name, decoded(content))
