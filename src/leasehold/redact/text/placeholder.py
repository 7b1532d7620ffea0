"""Placeholders such as `[REDACTED:password#1]`: their classes, how they are numbered, how old ones are kept.

The order of `CLASSES` is also the order of precedence where findings overlap: the more specific class names the whole.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from leasehold.redact.text.spans import Span

VENDOR_CLASSES: Final = (
    "anthropic_key", "openai_key", "aws_key", "azure_key", "google_key", "github_token", "gitlab_token", "slack_token",
    "stripe_key", "npm_token", "pypi_token", "sendgrid_key", "twilio_key", "huggingface_token", "digitalocean_token",
    "age_key", "vault_token", "telegram_token", "discord_token", "shopify_token", "databricks_token", "cloudflare_key",
    "vendor_token",
)  # fmt: skip
CLASSES: Final = (
    "private_key", "registered", *VENDOR_CLASSES, "jwt", "authorization", "cookie", "uri_password", "password",
    "secret", "api_key", "token", "high_entropy", "email", "host", "address", "line",
)  # fmt: skip
RANK: Final = {name: rank for rank, name in enumerate(CLASSES)}

# Stands for each character of an old placeholder while patterns are tried: no pattern takes it for a secret.
MASK: Final = "\ue000"
# Twelve digits are recognised, nine are counted on from: a forged number cannot make ours too long to recognise.
PLACEHOLDER: Final = re.compile(rf"\[REDACTED:({'|'.join(CLASSES)})#([0-9]{{1,12}})\]")
NUMBER_DIGITS_MAX: Final = 9
LINE_END: Final = re.compile(r"\r?\n")


def masked(text: str) -> str:
    """Return the text with every placeholder in it made inert, each character at its old place."""
    if "[REDACTED:" not in text:
        return text
    return PLACEHOLDER.sub(lambda found: MASK * len(found[0]), text)


def is_part_of_a_placeholder(value: str) -> bool:
    return any(value in f"[REDACTED:{name}#" for name in CLASSES)


class Numbers:
    """Counts the distinct values of each class in one text, starting after the placeholders already in it."""

    def __init__(self, text: str) -> None:
        self._last: dict[str, int] = defaultdict(int)
        self._known: dict[tuple[str, str], int] = {}
        for found in PLACEHOLDER.finditer(text):
            if len(found[2]) <= NUMBER_DIGITS_MAX:
                self._last[found[1]] = max(self._last[found[1]], int(found[2]))

    def placeholder(self, name: str, value: str) -> str:
        key = (name, value)
        if key not in self._known:
            self._last[name] += 1
            self._known[key] = self._last[name]
        return f"[REDACTED:{name}#{self._known[key]}]"


def write(text: str, spans: Iterable[Span], numbers: Numbers) -> str:
    """Return the text with placeholders in place of the spans; every line end inside a span stays."""
    parts = []
    position = 0
    for span in spans:
        parts.append(text[position : span.start])
        if not span.blank:
            parts.append(numbers.placeholder(span.name, span.value or text[span.start : span.end]))
        parts.extend(LINE_END.findall(text, span.start, span.end))
        position = span.end
    parts.append(text[position:])
    return "".join(parts)
