"""Tokens without a known form, and everything long that is none."""

import hashlib
import random
import string
import uuid

from leasehold.redact.classify.drawn import LENGTH_MIN, looks_random
from tests.redact.checks import LETTERS, check_hidden, check_left_alone, clean
from tests.support.rows import every_row

DICE = random.Random(20_240_501)


@every_row("place", ["{}", "got {} back", '"{}"', "a={};", "https://example.org/{}", "({})", "x:{}"])
def test_a_long_mixed_token_is_hidden(place):
    check_hidden(place, LETTERS, "high_entropy")


def test_the_padding_of_base64_goes_with_it():
    check_hidden("<{}>", LETTERS + "ab==", "high_entropy")


@every_row(
    ("alphabet", "length", "share"),
    [
        (string.ascii_letters + string.digits + "+/", 24, 0.9),
        (string.ascii_letters + string.digits + "-_", 32, 0.95),
        (string.ascii_letters + string.digits, 40, 0.98),
        (string.ascii_lowercase + string.digits, 32, 0.9),
    ],
)
def test_nearly_every_random_token_is_recognised(alphabet, length, share):
    tokens = ["".join(DICE.choices(alphabet, k=length)) for _ in range(1_000)]
    assert sum(map(looks_random, tokens)) >= share * len(tokens)


def test_a_token_one_character_too_short_is_left_alone():
    check_left_alone(LETTERS[: LENGTH_MIN - 1])
    check_hidden("{}", LETTERS[:LENGTH_MIN], "high_entropy")


@every_row("algorithm", ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b"])
def test_a_digest_is_left_alone(algorithm):
    digest = hashlib.new(algorithm, b"leasehold").hexdigest()
    for text in (digest, digest.upper(), f"{algorithm}:{digest}", f"--hash={algorithm}:{digest}", f"commit {digest}"):
        check_left_alone(text)


@every_row(
    "text",
    [
        str(uuid.UUID(int=DICE.getrandbits(128))),
        "{" + str(uuid.UUID(int=DICE.getrandbits(128))).upper() + "}",
        '"integrity": "sha512-' + LETTERS * 2 + 'abcdef=="',
        "example.org/module v1.2.3 h1:" + LETTERS + "abc=",
        "pkg/__init__.py,sha256=" + LETTERS + "abc,1024",
        "SHA256:" + LETTERS + "abc",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + LETTERS,
        "data:image/png;base64," + LETTERS * 3,
        "AbstractSingletonProxyFactoryBean2",
        "test_a_worker_that_slept_past_its_lease_cannot_settle_the_next_attempt",
        "THIS_IS_A_LONG_CONSTANT_NAME_2024",
        "src/leasehold/store/postgres/statements/claim.sql",
        "/usr/lib/x86_64-linux-gnu/libLLVM-15.so.1",
        "manylinux_2_17_x86_64.manylinux2014_x86_64",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "0x8CB91E82A3386D280F5D6F7E50E641DF152F7109ED5456B3",
        "https://example.org/docs/library/asyncio-task.html",
        "a" * 100,
        "=" * 100,
        "-" * 100,
        "1234567890" * 5,
    ],
)
def test_what_is_long_but_not_random_is_left_alone(text):
    check_left_alone(text)


def test_a_policy_can_do_without_guessing():
    assert clean(LETTERS, entropy=False) == LETTERS
