"""A text as the detectors read it, where something to hide stands in it, and what stands there instead.

A placeholder is written such as `[REDACTED:password#1]`. The order of `CLASSES` is also the order of precedence where
findings overlap: the more specific class names the whole.

"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

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
# It is in ASCII, for a text with a wider character in it is searched at half the speed, and no space.
MASK: Final = "\x1a"
# Twelve digits are recognised, nine are counted on from: a forged number cannot make ours too long to recognise.
PLACEHOLDER: Final = re.compile(rf"\[REDACTED:({'|'.join(CLASSES)})#([0-9]{{1,12}})\]")
NUMBER_DIGITS_MAX: Final = 9
LINE_END: Final = re.compile(r"\r?\n")


class Span(NamedTuple):
    """One finding. `value` is what it is an occurrence of, if not of its own text; `blank` leaves no placeholder."""

    start: int
    end: int
    name: str
    value: str = ""
    blank: bool = False


def masked(text: str) -> str:
    """Return the text with every placeholder in it made inert, each character at its old place."""
    return PLACEHOLDER.sub(lambda found: MASK * len(found[0]), text) if "[REDACTED:" in text else text


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


def write(text: str, spans: Iterable[Span], numbers: Numbers) -> tuple[str, list[tuple[int, int]]]:
    """Return the text with placeholders in place of the spans, and where they stand; line ends inside a span stay."""
    parts: list[str] = []
    changed: list[tuple[int, int]] = []
    position = length = 0
    for span in spans:
        hidden = text[span.start : span.end]
        inside = "" if span.blank else numbers.placeholder(span.name, span.value or hidden)
        if "\n" in hidden:
            inside += "".join(LINE_END.findall(hidden))
        parts += (text[position : span.start], inside)
        length += span.start - position
        changed.append((length, length + len(inside)))
        length += len(inside)
        position = span.end
    parts.append(text[position:])
    return "".join(parts), changed


def merged(text: str, spans: Iterable[Span]) -> list[Span]:
    """Return disjoint spans in order, none of them inside a hole (a placeholder that is there already).

    What overlaps is hidden as one, so nothing found by one pattern survives because another found less.
    A span that reaches out of a hole swallows it.
    """
    holes = [found.span() for found in PLACEHOLDER.finditer(text)]
    joined: list[Span] = []
    for span in sorted(_outside(text, spans, holes)):
        if joined and span.start < joined[-1].end:
            joined[-1] = _union(joined[-1], span)
        else:
            joined.append(span)
    return joined


def whole_lines(text: str, spans: Iterable[Span]) -> list[Span]:
    lines: dict[int, Span] = {}
    for span in spans:
        position = text.rfind("\n", 0, span.start) + 1
        while position < span.end:
            end = text.find("\n", position)
            end = len(text) if end < 0 else end
            stop = end - text.endswith("\r", position, end)
            if stop > position:
                lines[position] = Span(position, stop, "line")
            position = end + 1
    return [lines[start] for start in sorted(lines)]


def _outside(text: str, spans: Iterable[Span], holes: list[tuple[int, int]]) -> Iterable[Span]:
    """Yield spans without line ends at their edges, widened over the holes they touch; drop those inside one."""
    at = 0
    for span in sorted(_trimmed(text, spans)):
        while at < len(holes) and holes[at][1] <= span.start:
            at += 1
        start, end, inside = span.start, span.end, False
        reached = at
        while reached < len(holes) and holes[reached][0] < end:
            inside = inside or (holes[reached][0] <= start and end <= holes[reached][1])
            start, end = min(start, holes[reached][0]), max(end, holes[reached][1])
            reached += 1
        if not inside:
            yield span if (start, end) == (span.start, span.end) else Span(start, end, span.name, "", span.blank)


def _trimmed(text: str, spans: Iterable[Span]) -> Iterable[Span]:
    for span in spans:
        part = text[span.start : span.end]
        start = span.start + len(part) - len(part.lstrip("\r\n"))
        if kept := part.strip("\r\n"):
            yield span if kept == part else span._replace(start=start, end=start + len(kept))


def _union(first: Span, second: Span) -> Span:
    end = max(first.end, second.end)
    best = min(first, second, key=lambda span: RANK[span.name])
    is_whole = (best.start, best.end) == (first.start, end)
    return best if is_whole else Span(first.start, end, best.name, "", best.blank)
