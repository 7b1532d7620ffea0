"""A value that was hidden once is a secret wherever it stands: its other occurrences in the text are hidden as well."""

import re
import string
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from leasehold.redact.page import places
from leasehold.redact.text import Span

LENGTH_MIN: Final = 8
LENGTH_MAX: Final = 256
SEARCHED_MAX: Final = 64  # so many values are searched for; of more, only whole words
MIXED: Final = re.compile(
    r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])|(?![$@%]?\w+$)(?=.*[^A-Za-z0-9 _./:-])(?=.*[A-Za-z])", re.DOTALL
)
NOT_REPEATED: Final = frozenset(("email", "host", "address", "line", "registered", "private_key"))
ALPHANUMERIC: Final = (string.ascii_letters + string.digits).encode()
WORDS: Final = bytes(code if code in ALPHANUMERIC else 32 for code in range(256))
WORD: Final = re.compile(r"[^\s\"'`<>,;(){}\[\]=&|:/@\\]{8,256}")


def find_repeats(text: str, found: Iterable[Span]) -> Iterator[Span]:
    """Yield the other places of the values that were found.

    A value is looked for only if its longest word is among those of the rest of the text, which are split at once.
    """
    spans = sorted(found)
    names = {text[span.start : span.end]: span.name for span in spans if span.name not in NOT_REPEATED}
    cores: dict[bytes, list[str]] = defaultdict(list)
    for value in filter(_is_distinctive, names):
        cores[_core(value)].append(value)
    others = cores.keys() & set(_words(_rest(text, spans))) if cores else set()
    again = sorted(value for core in others for value in cores[core])
    for value in again[:SEARCHED_MAX]:
        yield from (Span(place, place + len(value), names[value]) for place in places(text, value, len(value)))
    if len(again) > SEARCHED_MAX:
        left = set(again)
        yield from (Span(*word.span(), names[word[0]]) for word in WORD.finditer(text) if word[0] in left)


def _rest(text: str, spans: list[Span]) -> str:
    """Return what stands between the places that were found."""
    parts = []
    position = 0
    for span in spans:
        parts.append(text[position : span.start])
        position = max(position, span.end)
    return " ".join([*parts, text[position:]])


def _words(text: str) -> list[bytes]:
    return text.encode("ascii", "replace").translate(WORDS).split()


def _core(value: str) -> bytes:
    return max(_words(value), key=len, default=b"")


def _is_distinctive(value: str) -> bool:
    """Whether a value is a secret wherever it stands; a plain word may stand anywhere."""
    return LENGTH_MIN <= len(value) <= LENGTH_MAX and "\n" not in value and MIXED.match(value) is not None
