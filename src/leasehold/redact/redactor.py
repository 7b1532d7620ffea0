"""Applies every pattern to one text until nothing is left to find; that is what makes the result idempotent.

A text that keeps changing after a few turns loses the whole lines that do; one that never becomes stable is refused.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from leasehold.errors import Misuse
from leasehold.redact.classify.named import find_named
from leasehold.redact.detectors.command_lines import find_command_passwords
from leasehold.redact.detectors.confidential import ConfidentialHosts, find_addresses, find_emails
from leasehold.redact.detectors.credential_files import find_in_credential_files
from leasehold.redact.detectors.entropy import find_random_tokens
from leasehold.redact.detectors.http_headers import find_credentials_in_headers
from leasehold.redact.detectors.key_fragments import find_fragments
from leasehold.redact.detectors.pairs import find_pairs
from leasehold.redact.detectors.private_keys import find_private_keys
from leasehold.redact.detectors.registered import ExactValues
from leasehold.redact.detectors.sql import find_in_statements
from leasehold.redact.detectors.uris import find_uri_passwords
from leasehold.redact.detectors.vendor_tokens import find_jwts, find_vendor_tokens
from leasehold.redact.errors import RedactionFailed
from leasehold.redact.policy import Policy
from leasehold.redact.text.page import Detector, Page
from leasehold.redact.text.placeholder import PLACEHOLDER, RANK, Numbers, write
from leasehold.redact.text.spans import Span, merged, whole_lines

PATIENT_TURNS: Final = 3
TURNS_MAX: Final = 8


@dataclass(frozen=True, slots=True)
class Redacted:
    """A clean text, and how many places of each class were hidden in it by this call."""

    text: str
    counts: dict[str, int] = field(default_factory=dict)


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
        for turn in range(TURNS_MAX):
            spans = self._findings(text)
            if not spans:
                return Redacted(text, dict(counts))
            if turn >= PATIENT_TURNS:
                spans = whole_lines(text, spans)
            counts.update(span.name for span in spans if not span.blank)
            text = write(text, spans, numbers)
        raise RedactionFailed("The text does not become stable.")

    def _findings(self, text: str) -> list[Span]:
        page = Page.of(text)
        spans = [span for detect in self._detectors for span in detect(page)]
        if not spans:
            return []
        return merged(text, spans, [found.span() for found in PLACEHOLDER.finditer(text)], RANK)


def _detectors(policy: Policy) -> list[Detector]:
    found: list[Detector] = [
        find_private_keys,
        find_vendor_tokens,
        find_jwts,
        find_credentials_in_headers,
        find_uri_passwords,
        find_named,
        find_pairs,
        find_command_passwords,
        find_in_credential_files,
        find_in_statements,
    ]
    if policy.secrets:
        found.append(ExactValues(policy.secrets).find)
    if policy.entropy:
        found += [find_random_tokens, find_fragments]
    if policy.emails:
        found.append(find_emails)
    if policy.hosts:
        found.append(ConfidentialHosts(policy.hosts).find)
    if policy.addresses:
        found.append(find_addresses)
    return found
