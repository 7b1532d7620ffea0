"""Registered values that were encoded and wrapped, and the middle of a key without its markers."""

import base64
import hashlib
import random
import string

from tests.redact.checks import LETTERS, check_left_alone, clean
from tests.support.rows import every_row

VALUE = "tr0ub4dor &3/ü? and longer than one line of base64 at any width"
SHORT = "hunter2-hunter2"
DICE = random.Random(7)
ALPHABET = string.ascii_letters + string.digits + "+/"


def wrapped(octets: bytes, width: int) -> list[str]:
    whole = base64.b64encode(octets).decode()
    return [whole[start : start + width] for start in range(0, len(whole), width)]


def body(width: int, count: int) -> list[str]:
    return ["".join(DICE.choices(ALPHABET, k=width)) for _ in range(count)]


@every_row("width", [64, 76])
@every_row("between", ["\n", "\r\n", r"\n", r"\\n", "\n    ", '"\n    "', "\n> "])
@every_row("secret", [VALUE, SHORT])
def test_a_value_is_found_in_wrapped_base64_wherever_the_lines_break(width, between, secret):
    for before in range(0, 60, 5):
        lines = wrapped(b"x" * before + secret.encode() + b"y" * 90, width)
        found = clean("<" + between.join(lines) + ">", secrets=[secret], entropy=False)
        assert found.strip("\r\n \"'\\n>") == "<[REDACTED:registered#1]", (before, found)


@every_row("margin", ["+", "-"])
def test_a_value_is_found_in_wrapped_base64_of_a_diff(margin):
    lines = wrapped(b"x" * 40 + SHORT.encode() + b"y" * 60, 64)
    found = clean("\n".join(margin + line for line in lines), secrets=[SHORT], entropy=False)
    assert found.rstrip("\n") == "[REDACTED:registered#1]"


@every_row("encoding", ["utf-16-le", "utf-16-be", "utf-16"])
@every_row("before", ["", "a", "ab"])
def test_a_value_is_found_in_base64_and_hexadecimal_of_wide_characters(encoding, before):
    octets = (before + VALUE).encode(encoding)
    for form in (base64.b64encode(octets).decode(), base64.urlsafe_b64encode(octets).decode()):
        assert clean(f"<{form}>", secrets=[VALUE]) == "<[REDACTED:registered#1]>"
    for form in (octets.hex(), octets.hex().upper()):
        assert clean(form, secrets=[VALUE]).endswith("[REDACTED:registered#1]")


@every_row("mark", ["", ":", " "])
def test_hexadecimal_is_found_in_either_case_and_parted(mark):
    form = SHORT.encode().hex(mark) if mark else SHORT.encode().hex()
    mixed = "".join(sign.upper() if place % 3 else sign for place, sign in enumerate(form))
    for text in (form, form.upper(), mixed):
        assert clean(f"<{text}>", secrets=[SHORT]) == "<[REDACTED:registered#1]>"


@every_row("form", ["%68%75%6E%74%65%72%32%2D%68%75%6e%74%65%72%32", r"\x68unter2-hunter2"])
def test_a_percent_encoded_value_is_found_in_mixed_case(form):
    expected = "[REDACTED:registered#1]" if form.startswith("%") else form
    assert clean(form, secrets=[SHORT]) == expected


def test_base64_inside_base64_is_found():
    once = base64.b64encode(f"bob:{VALUE}".encode())
    twice = base64.b64encode(b'{"auth":"' + once + b'"}').decode()
    assert clean(f"<{twice}>", secrets=[VALUE], entropy=False) == "<[REDACTED:registered#1]>"


def test_wrapped_base64_without_the_value_is_left_alone():
    text = "\n".join(wrapped(b"nothing to see here, only words " * 9, 64))
    assert clean(text, secrets=[VALUE, SHORT], entropy=False) == text


def test_lines_of_words_are_not_joined_to_a_value():
    text = "hunter2\n-hunter2"
    assert clean(text, secrets=[SHORT]) == text


@every_row(("width", "count"), [(64, 3), (64, 9), (76, 3), (40, 3), (39, 4), (24, 4), (16, 4), (12, 4)])
@every_row("margin", ["+", "-", " ", "", "    ", "> "])
def test_the_middle_of_a_key_is_hidden_with_as_few_lines_as_that(width, count, margin):
    lines = body(width, count)
    found = clean("@@ -1 +1 @@\n" + "".join(f"{margin}{line}\n" for line in lines) + " context here\n")
    assert not any(line[:8] in found for line in lines)
    assert found.startswith(f"@@ -1 +1 @@\n{margin}[REDACTED:private_key#1]\n{margin}\n")
    assert found.endswith("\n context here\n")


def test_the_shorter_line_that_ends_a_key_goes_with_it():
    lines = [*body(64, 3), "aB3=="]
    assert clean("\n".join("+" + line for line in lines)) == "+[REDACTED:private_key#1]\n+\n+\n+=="


@every_row(("width", "count"), [(23, 3), (16, 3), (12, 3), (11, 8)])
def test_fewer_or_narrower_lines_are_left_alone(width, count):
    check_left_alone("\n".join(body(width, count)))


@every_row(
    "lines",
    [
        [hashlib.sha256(bytes([number])).hexdigest() for number in range(9)],
        [hashlib.md5(bytes([number]), usedforsecurity=False).hexdigest()[:20] for number in range(9)],
        ["AbstractFactory1", "ConcreteFactory2", "SingletonObject3", "PrototypeThing44"],
        ["import_this_one_1", "import_this_one_2", "import_this_one_3", "import_this_one_4"],
        ["THIS_IS_CONSTANT", "THAT_IS_CONSTANT", "MANY_IS_CONSTANT", "FINE_IS_CONSTANT"],
        [LETTERS[:16]] * 6,
        ["0123456789012345"] * 4,
        ["=" * 64] * 4,
        ["a" * 64] * 4,
    ],
)
def test_lines_of_one_width_that_are_no_key_are_left_alone(lines):
    check_left_alone("\n".join(lines))
    check_left_alone("\n".join("+" + line for line in lines))


def test_a_policy_without_guessing_leaves_fragments_alone():
    text = "\n".join(body(64, 5))
    assert clean(text, entropy=False) == text
