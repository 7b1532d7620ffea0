"""What a policy may declare confidential: e-mail addresses, hosts by name or suffix, private IP addresses."""

import itertools
import re
import string
from collections.abc import Iterator, Sequence
from typing import Final

from leasehold.redact.text.page import Page, matches, places, start_of
from leasehold.redact.text.spans import Span

LOCAL_LENGTH_MAX: Final = 64
LOCAL_CHARACTERS: Final = string.ascii_letters + string.digits + "!#$%&*+=?^_{|}~.-"
DOMAIN: Final = re.compile(r"[^\W_][\w-]{0,62}(?:\.[\w-]{1,63}){1,8}")
USER_OF_A_URI: Final = re.compile(r"://(?:[^\s/@]{0,64}:)?$")
HOST_LENGTH_MAX: Final = 253
HOST_CHARACTERS: Final = string.ascii_lowercase + string.digits + "-._"
HOST_GOES_ON: Final = re.compile(r"[a-z0-9_-]|\.[a-z0-9]")
PART: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
PRIVATE_V4: Final = re.compile(
    rf"(?<![\w.])(?:10\.{PART}|192\.168|172\.(?:1[6-9]|2[0-9]|3[01])|169\.254|100\.(?:6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7]))"
    rf"\.{PART}\.{PART}(?![\w]|\.[0-9])"
)
# What may stand before comes second: a pattern that starts with a letter is found many times faster.
PRIVATE_V6: Final = re.compile(
    r"f(?<![\w:].)(?:[cd][0-9a-f]{2}|e[89ab][0-9a-f]):[0-9a-f:]{1,39}(?:%\w{1,16})?(?![\w:])"
)
PRIVATE_V4_STARTS: Final = ("10.", "192.168.", "172.", "169.254.", "100.")


def find_emails(page: Page) -> Iterator[Span]:
    """Yield e-mail addresses; the user and host of a URI are not one, nor is the git user."""
    text = page.text
    for place in places(text, "@"):
        domain = DOMAIN.match(text, place + 1)
        start = start_of(text, place, LOCAL_CHARACTERS, LOCAL_LENGTH_MAX)
        if not domain or text[start:place] in {"", "git"}:
            continue
        if not USER_OF_A_URI.search(text, max(0, start - LOCAL_LENGTH_MAX - 4), start):
            yield Span(start, domain.end(), "email")


def find_addresses(page: Page) -> Iterator[Span]:
    """Yield private addresses of both versions of the protocol."""
    found = (matches(page.shadow, start, PRIVATE_V4) for start in PRIVATE_V4_STARTS)
    for address in itertools.chain(*found, PRIVATE_V6.finditer(page.shadow)):
        yield Span(*address.span(), "address")


class ConfidentialHosts:
    """Finds the hosts that a policy names, or that end in a suffix it names."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(dict.fromkeys(names))

    def find(self, page: Page) -> Iterator[Span]:
        """Yield whole host names, the labels before a suffix included."""
        for name in self._names:
            for place in places(page.shadow, name):
                start = start_of(page.shadow, place, HOST_CHARACTERS, HOST_LENGTH_MAX)
                end = place + len(name)
                is_whole = name.startswith(".") or start == place or page.shadow[place - 1] == "."
                if is_whole and start < end - 1 and not HOST_GOES_ON.match(page.shadow, end):
                    yield Span(start, end, "host")
