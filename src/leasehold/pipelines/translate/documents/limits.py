"""Limits of a document. What is larger is refused before any work is done, with what to do instead."""

from typing import Final

DOCUMENT_BYTES_MAX: Final = 20 * 1024 * 1024
PARAGRAPHS_MAX: Final = 100_000
PARAGRAPH_BYTES_MAX: Final = 60_000  # a job holds a paragraph several times, and a record of all its candidates
# A DOCX is a zip: the sizes that it declares, which are also all that is read of it.
UNPACKED_BYTES_MAX: Final = 200 * 1024 * 1024
UNPACKED_XML_BYTES_MAX: Final = 40 * 1024 * 1024
MEMBERS_MAX: Final = 10_000
# How deep block quotes and lists may stand inside each other.
NESTING_MAX: Final = 100
