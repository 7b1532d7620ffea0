"""Does a text look drawn by lot? Random characters differ from names in how often they change their kind."""

import math
import operator
import re
from collections import Counter
from typing import Final

LENGTH_MIN: Final = 24
ONE_CASE_LENGTH_MIN: Final = 30
BITS_MIN: Final = 3.5
TURNS_MIN: Final = 0.4
ONE_CASE_TURNS_MIN: Final = 0.2
SAMPLE_MAX: Final = 512  # a longer run is judged by its beginning
# Behind a name that announces a key less is enough.
NAMED_LENGTH_MIN: Final = 12
NAMED_TURNS_MIN: Final = 0.25
HEX_LENGTH_MIN: Final = 16

SHAPES: Final = bytes.maketrans(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", b"a" * 26 + b"A" * 26 + b"0" * 10
)
HEX: Final = re.compile(r"(?:0[xX])?[0-9A-Fa-f-]*")
DIGEST: Final = re.compile(r"(?<![A-Za-z0-9])[0-9a-f]{32,128}(?![A-Za-z0-9])")
ONE_CASE: Final = re.compile(r"[a-z0-9]+|[A-Z0-9]+")
TOKEN: Final = re.compile(r"[A-Za-z0-9+/=_.~:!@#$%^*-]+")
BARE_HEX: Final = re.compile(r"(?=[^0-9]{0,64}[0-9])(?=[^a-fA-F]{0,64}[a-fA-F])[0-9a-fA-F-]+")


def looks_random(token: str) -> bool:
    """Distinguish a token drawn by lot from a name, a path or a digest."""
    sample = DIGEST.sub("", token[:SAMPLE_MAX])
    if len(sample) < LENGTH_MIN or HEX.fullmatch(sample):
        return False
    shape = _shape(sample)
    if ONE_CASE.fullmatch(sample):
        return len(sample) >= ONE_CASE_LENGTH_MIN and _turns(shape) >= ONE_CASE_TURNS_MIN and bits(sample) >= BITS_MIN
    mixed = b"a" in shape and b"A" in shape and b"0" in shape
    return mixed and _turns(shape) >= TURNS_MIN and bits(sample) >= BITS_MIN


def is_drawn(token: str) -> bool:
    """Whether what a name announces may be a key: hexadecimal, a UUID, or letters and digits in turn."""
    if not TOKEN.fullmatch(token):
        return False
    if BARE_HEX.fullmatch(token):
        return len(token) >= HEX_LENGTH_MIN
    shape = _shape(token[:SAMPLE_MAX])
    if len(token) < NAMED_LENGTH_MIN or b"0" not in shape or not (b"a" in shape or b"A" in shape):
        return False
    return _turns(shape) >= NAMED_TURNS_MIN


def _shape(sample: str) -> bytes:
    return sample.encode().translate(SHAPES, b"+/_-")


def _turns(shape: bytes) -> float:
    changes: int = sum(map(operator.ne, shape, shape[1:]))
    return changes / max(1, len(shape))


def bits(sample: str) -> float:
    """Return Shannon's measure: bits a character, by how often each character occurs."""
    size = len(sample)
    return -sum(count / size * math.log2(count / size) for count in Counter(sample).values())
