"""Numbering, precedence, and what happens to placeholders that are there already."""

import pytest

from leasehold.errors import Misuse
from leasehold.redact import RedactionFailed, Redactor
from leasehold.redact.page import Page
from leasehold.redact.text import CLASSES, Span, merged, whole_lines
from tests.redact.checks import LETTERS, check_left_alone, clean, clean_and_counted
from tests.support.rows import every_row


@every_row("name", CLASSES)
def test_a_placeholder_of_any_class_is_left_alone_wherever_a_secret_could_stand(name):
    there = f"[REDACTED:{name}#7]"
    check_left_alone(
        f"password = '{there}'\npassword: {there}\nPASSWORD={there}\n<password>{there}</password>\n"
        f"https://u:{there}@h/\nAuthorization: Bearer {there}\nCookie: sid={there}\nmysql -p{there}\n"
    )


def test_new_numbers_start_after_the_highest_of_their_class():
    text = "password='[REDACTED:password#4]' password='hunter2' token [REDACTED:jwt#9]"
    assert clean(text) == "password='[REDACTED:password#4]' password='[REDACTED:password#5]' token [REDACTED:jwt#9]"


def test_a_forged_number_cannot_grow_beyond_what_is_recognised():
    forged = "[REDACTED:password#999999999999] password='hunter2'"
    assert clean(forged) == "[REDACTED:password#999999999999] password='[REDACTED:password#1]'"
    assert clean("[REDACTED:password#999999999] password='hunter2'").endswith("'[REDACTED:password#1000000000]'")


def test_an_unknown_class_is_no_placeholder():
    assert clean("password='[REDACTED:hunter#1]'") == "password='[REDACTED:password#1]'"


def test_what_sticks_out_of_a_placeholder_is_hidden_with_it():
    assert clean("password='abc[REDACTED:jwt#1]def'") == "password='[REDACTED:password#1]'"


def test_the_more_specific_class_names_the_whole():
    token = "ghp_" + LETTERS[:36]
    assert clean(f"password = '{token}'") == "password = '[REDACTED:github_token#1]'"
    assert clean(f"password = 'x {token} y'") == "password = '[REDACTED:github_token#1]'"


def test_findings_that_overlap_become_one_and_lose_nothing():
    spans = [Span(2, 6, "token"), Span(4, 9, "jwt"), Span(9, 11, "email"), Span(20, 22, "token")]
    assert merged("x" * 30, spans) == [Span(2, 9, "jwt"), Span(9, 11, "email"), Span(20, 22, "token")]


def test_a_span_loses_the_line_ends_at_its_edges():
    assert merged("a\r\nbc\r\nd", [Span(1, 7, "token"), Span(7, 7, "token")]) == [Span(3, 5, "token")]


def test_whole_lines_are_taken_once_each_and_keep_their_ends():
    text = "one\r\ntwo two\n\nthree"
    found = whole_lines(text, [Span(5, 6, "token"), Span(9, 11, "jwt"), Span(12, 16, "token")])
    assert [text[span.start : span.end] for span in found] == ["two two", "three"]


def test_the_shadow_of_a_text_has_every_character_at_its_place():
    text = "A\u0130\U0001f600ß\ud800\x00Z\ue000ﬀ\u1e9e"
    page = Page.of(text)
    assert page.shadow == "a????\x00z???"
    assert page.text == text


def test_nothing_but_text_is_taken():
    for value in (b"password", None, 7, ["password"]):
        with pytest.raises(Misuse):
            Redactor().redact(value)  # type: ignore[arg-type]


class Breaking(str):
    """A text that cannot be read."""

    __slots__ = ()

    def encode(self, *_: object) -> bytes:
        raise ZeroDivisionError(str(self))


def test_any_error_inside_is_a_failure_that_does_not_show_the_text():
    with pytest.raises(RedactionFailed) as failure:
        Redactor().redact(Breaking("password=hunter2"))
    assert "hunter2" not in str(failure.value)
    assert failure.value.code == "REDACTION_FAILED"
    assert failure.value.__cause__ is None
    assert failure.value.__suppress_context__


def test_counts_are_the_number_of_places_of_each_class_that_this_call_hid():
    found = clean_and_counted("password=hunter2 https://u:pw1@h password=[REDACTED:password#1]")
    assert found.counts == {"password": 1, "uri_password": 1}
    assert clean_and_counted("nothing here").counts == {}
