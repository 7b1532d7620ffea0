"""The documents of `leasehold translate`: read into paragraphs, and written back with translations in their place.

    document = read_document(Path("chapter.md"))
    marked = protect(document.paragraphs[0].source, document.format)
    text = restore(respace(translated(marked.text), marked), marked.kept)
    Path("capítulo.md").write_bytes(document.render({1: text}))

Nothing here knows a database or a translator.
"""

from leasehold.pipelines.translate.documents.document import Document, DocumentInvalid, Paragraph
from leasehold.pipelines.translate.documents.protecting import Protected, protect, respace, restore
from leasehold.pipelines.translate.documents.reading import ENDINGS, read_document

__all__ = [
    "ENDINGS",
    "Document",
    "DocumentInvalid",
    "Paragraph",
    "Protected",
    "protect",
    "read_document",
    "respace",
    "restore",
]
