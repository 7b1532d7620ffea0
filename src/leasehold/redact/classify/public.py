"""Certificates, public keys and signatures: they look drawn by lot as private keys do, and are for everybody."""

import bisect
import re
from typing import Final

from leasehold.redact.page import matches

# Nothing but base64 and margins up to its end: a walk ends at the first other sign, so no sign is walked over twice.
BLOCK: Final = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}"
    r"(?:CERTIFICATE(?: REQUEST)?|PUBLIC KEY(?: BLOCK)?|SIGNATURE|PARAMETERS|CRL)-----"
    r"[A-Za-z0-9+/=\s\\\"',>|#*:]{0,100000}+-----END "
)


def public_blocks(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in matches(text, "-----BEGIN ", BLOCK)]


def is_within(place: int, blocks: list[tuple[int, int]]) -> bool:
    number = bisect.bisect_right(blocks, (place, place)) - 1 if blocks else -1
    return number >= 0 and place < blocks[number][1]
