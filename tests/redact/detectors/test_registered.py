"""Exact values, and the forms they travel in."""

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest

from leasehold.errors import Misuse
from leasehold.redact import Policy
from tests.redact.checks import clean, clean_and_counted
from tests.support.rows import every_row

VALUE = "tr0ub4dor &3/ü?"


@every_row(
    "form",
    [
        VALUE,
        quote(VALUE),
        quote(VALUE, safe=""),
        quote(VALUE, safe="").replace("%C3", "%c3").replace("%BC", "%bc").replace("%2F", "%2f").replace("%3F", "%3f"),
        quote_plus(VALUE),
        VALUE.encode().hex(),
        VALUE.encode().hex().upper(),
        json.dumps(VALUE)[1:-1],
        html.escape(VALUE),
        "".join(f"%{octet:02X}" for octet in VALUE.encode()),
    ],
)
def test_a_value_is_found_in_every_form_and_keeps_its_number(form):
    assert clean(f"a {form} b {VALUE} c", secrets=[VALUE]) == "a [REDACTED:registered#1] b [REDACTED:registered#1] c"


@every_row("encode", [base64.b64encode, base64.urlsafe_b64encode])
@every_row("before", [b"", b"u", b"us", b"user:"])
@every_row("after", [b"", b"x", b"xy"])
def test_a_value_is_found_in_base64_at_every_alignment(encode, before, after):
    run = encode(before + VALUE.encode() + after).decode()
    assert clean(f"<{run}>", secrets=[VALUE]) == "<[REDACTED:registered#1]>"


def test_a_value_of_several_lines_keeps_their_number():
    assert (
        clean("a first\r\nsecond\nthird b", secrets=["first\r\nsecond\nthird"]) == "a [REDACTED:registered#1]\r\n\n b"
    )


def test_a_value_inside_a_longer_word_is_hidden():
    assert clean("xxhunter2yy", secrets=["hunter2"]) == "xx[REDACTED:registered#1]yy"


def test_two_values_get_two_numbers_and_every_place_is_counted():
    found = clean_and_counted("one-secret two-secret one-secret", secrets=["two-secret", "one-secret"])
    assert found.text == "[REDACTED:registered#1] [REDACTED:registered#2] [REDACTED:registered#1]"
    assert found.counts == {"registered": 3}


@every_row("value", ["", "five5", "REDACTED", "password", 123456, b"bytes!"])
def test_a_value_that_would_hide_everything_is_refused_and_not_repeated(value):
    with pytest.raises(Misuse) as refusal:
        Policy(secrets=[value])
    assert not value or str(value) not in str(refusal.value).replace("password", "")


def test_one_text_instead_of_a_list_is_refused():
    with pytest.raises(Misuse):
        Policy(secrets="hunter2-hunter2")


def test_a_value_of_six_characters_is_the_shortest_that_is_taken():
    assert clean("sixsix", secrets=["sixsix"]) == "[REDACTED:registered#1]"


def test_a_printed_policy_does_not_show_its_secrets():
    assert "hunter2" not in repr(Policy(secrets=["hunter2"]))
