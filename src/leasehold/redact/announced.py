"""Everything that a telling name announces: names are looked for once, then each notation asks what follows them."""

from __future__ import annotations

from collections.abc import Iterator

from leasehold.redact.assignments import find_assignments
from leasehold.redact.blocks import find_in_blocks, find_in_secret_documents
from leasehold.redact.containers import find_in_containers
from leasehold.redact.keys import find_keys
from leasehold.redact.page import Page
from leasehold.redact.spans import Span


def find_announced(page: Page) -> Iterator[Span]:
    """Yield the values of telling names: beside them, between brackets, on the lines below."""
    keys = sorted(find_keys(page))
    yield from find_assignments(page, keys)
    yield from find_in_containers(page, keys)
    yield from find_in_blocks(page, keys)
    yield from find_in_secret_documents(page)
