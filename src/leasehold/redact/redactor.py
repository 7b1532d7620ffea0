"""Applies every pattern to one text until nothing is left to find; that is what makes the result idempotent.

A text that keeps changing after a few turns loses the whole lines that do; one that never becomes stable is refused.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Never, final

from leasehold.errors import Misuse
from leasehold.redact.classify.key_names import find_keys
from leasehold.redact.detectors.addresses import ConfidentialHosts, find_addresses, find_emails, find_uri_passwords
from leasehold.redact.detectors.assignments import find_assignments
from leasehold.redact.detectors.command_lines import find_command_passwords
from leasehold.redact.detectors.containers import find_in_containers
from leasehold.redact.detectors.credential_files import find_in_credential_files
from leasehold.redact.detectors.entropy import find_random_tokens
from leasehold.redact.detectors.http_headers import find_credentials_in_headers
from leasehold.redact.detectors.nearby import find_near_names
from leasehold.redact.detectors.pairs import find_in_statements, find_pairs
from leasehold.redact.detectors.private_keys import find_fragments, find_private_keys
from leasehold.redact.detectors.registered import ExactValues
from leasehold.redact.detectors.repeats import find_repeats
from leasehold.redact.detectors.tables import find_in_columns
from leasehold.redact.detectors.vendor_tokens import find_jwts, find_vendor_tokens
from leasehold.redact.detectors.yaml_blocks import find_in_blocks, find_in_secret_documents
from leasehold.redact.page import Detector, Page
from leasehold.redact.policy import Policy, RedactionFailed
from leasehold.redact.text import Numbers, Span, merged, whole_lines, write

PATIENT_TURNS: Final = 3
TURNS_MAX: Final = 8


@final
@dataclass(frozen=True, slots=True, init=False)
class Redacted:
    """A clean text, and how many places of each class were hidden in it by this call. Only a `Redactor` makes one.

    So a function that takes a `Redacted` cannot be given a raw text: type checkers refuse it, and so does the call.
    """

    text: str
    counts: dict[str, int]

    def __init__(self, _text: Never) -> None:
        raise Misuse("A Redacted is made by Redactor.redact alone.")


def _made(text: str, counts: Mapping[str, int]) -> Redacted:
    made = object.__new__(Redacted)
    object.__setattr__(made, "text", text)
    object.__setattr__(made, "counts", dict(counts))
    return made


class Redactor:
    """Cleans texts by one policy. It keeps nothing between calls and may be shared by threads."""

    def __init__(self, policy: Policy | None = None) -> None:
        self._detectors = tuple(_detectors(policy or Policy()))

    def redact(self, text: str) -> Redacted:
        """Return the text without its secrets, or raise `RedactionFailed`; the raw text is never returned instead."""
        if not isinstance(text, str):
            raise Misuse(f"Only text can be redacted, not {type(text).__name__}.")
        try:
            return self._until_stable(text)
        except RedactionFailed:
            raise
        except Exception as error:  # noqa: BLE001 - whatever broke, the raw text must not go on
            raise RedactionFailed(f"Stopped by {type(error).__name__}.") from None

    def _until_stable(self, text: str) -> Redacted:
        numbers = Numbers(text)
        counts: Counter[str] = Counter()
        changed = None
        for turn in range(TURNS_MAX):
            page = Page.of(text, changed)
            found = [span for detect in self._detectors for span in detect(page)]
            spans = merged(text, [*found, *find_repeats(text, found)]) if found else []
            if not spans:
                return _made(text, counts)
            if turn >= PATIENT_TURNS:
                spans = whole_lines(text, spans)
            counts.update(span.name for span in spans if not span.blank)
            text, changed = write(text, spans, numbers)
        raise RedactionFailed("The text does not become stable.")


def _find_named(page: Page) -> Iterator[Span]:
    """Yield what key names announce: names are looked for once, then each notation is asked what follows them."""
    keys = sorted(find_keys(page))
    for find in (find_assignments, find_in_containers, find_in_blocks, find_in_columns):
        yield from find(page, keys)


ALWAYS: Final[tuple[Detector, ...]] = (
    find_private_keys,
    find_vendor_tokens,
    find_jwts,
    find_credentials_in_headers,
    find_uri_passwords,
    _find_named,
    find_in_secret_documents,
    find_pairs,
    find_command_passwords,
    find_in_credential_files,
    find_in_statements,
    find_near_names,
)


def _detectors(policy: Policy) -> Iterator[Detector]:
    yield from ALWAYS
    if policy.secrets:
        yield ExactValues(policy.secrets).find
    if policy.entropy:
        yield from (find_random_tokens, find_fragments)
    if policy.emails:
        yield find_emails
    if policy.hosts:
        yield ConfidentialHosts(policy.hosts).find
    if policy.addresses:
        yield find_addresses
