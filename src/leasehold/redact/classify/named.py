"""Everything that a key name announces: names are looked for once, then each notation asks what follows them."""

from collections.abc import Iterator

from leasehold.redact.classify.key_names import find_keys
from leasehold.redact.detectors.assignments import find_assignments
from leasehold.redact.detectors.containers import find_in_containers
from leasehold.redact.detectors.yaml_blocks import find_in_blocks, find_in_secret_documents
from leasehold.redact.text.page import Page
from leasehold.redact.text.spans import Span


def find_named(page: Page) -> Iterator[Span]:
    """Yield the values of key names: on the same line, between brackets, on the lines below."""
    keys = sorted(find_keys(page))
    yield from find_assignments(page, keys)
    yield from find_in_containers(page, keys)
    yield from find_in_blocks(page, keys)
    yield from find_in_secret_documents(page)
