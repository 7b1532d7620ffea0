"""Names, keys and numbers that callers choose, and the limits they must keep."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.errors import Misuse, NameInvalid, OptionInvalid, number_text
from leasehold.model import limits
from leasehold.model.names import (
    check_choice,
    check_key,
    check_name,
    check_range,
    check_whole,
    clean,
    reason_of,
    route,
)
from leasehold.model.owner import Owner
from leasehold.model.status import Status


@pytest.mark.parametrize("name", ["a", "mail", "a.b-c_d", "x9", "a" * 63])
def test_a_good_name_is_returned_as_it_is(name):
    assert check_name(name, "queue") == name


@pytest.mark.parametrize(
    "name",
    ["", "A", "9a", "_a", "a b", "a/b", "a" * 64, "a\n", "ä", "a\0", "\ud800", None, 7, b"a", "a;drop", "-a", "a%"],
    ids=repr,
)
def test_a_bad_name_is_refused_with_the_rule(name):
    with pytest.raises(NameInvalid, match="lower case") as refused:
        check_name(name, "queue")
    assert refused.value.code == "NAME_INVALID"
    assert "This queue is" in str(refused.value)


@pytest.mark.parametrize("key", ["a", " ", "ключ", "x" * 512, "a/b?c=d"])
def test_a_good_key_is_returned_as_it_is(key):
    assert check_key(key) == key


@pytest.mark.parametrize("key", ["", "x" * 513, "a\0", "\ud800", None, 7, b"x"], ids=repr)
def test_a_bad_key_is_refused_with_the_rule(key):
    with pytest.raises(OptionInvalid, match="1 to 512"):
        check_key(key)


@given(st.text(st.characters() | st.characters(categories=["Cs"])), st.integers(1, 50))
def test_a_cleaned_text_can_be_kept_by_both_databases(text, limit):
    kept = clean(text, limit)
    assert kept.encode("utf-8").decode("utf-8") == kept
    assert "\0" not in kept
    assert len(kept) <= max(len(text), limit + 40)


def test_a_reason_is_cut_to_its_limit():
    assert reason_of("short") == "short"
    assert len(reason_of("x" * 10_000)) < limits.REASON_LENGTH_MAX + 40
    assert reason_of(None) == "None"


def test_a_route_names_the_kind_and_the_stage():
    assert (route("film", None), route("film", "audio")) == ("film", "film/audio")


@pytest.mark.parametrize("value", [0, 101, float("nan"), float("inf"), "5", None, True])
def test_a_number_outside_its_limits_is_refused(value):
    with pytest.raises(OptionInvalid, match="between 1 and 100"):
        check_range(value, 1, 100, "concurrency")
    with pytest.raises(OptionInvalid, match="whole number from 1 to 100"):
        check_whole(value, 1, 100, "concurrency")


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (lambda: check_name(7, "kind"), "This kind is 7."),
        (lambda: check_name("7", "kind"), "This kind is '7'."),
        (lambda: check_key(7), "without NUL; got 7."),
        (lambda: check_range("7", 1, 10, "delay"), "between 1 and 10; got '7'."),
        (lambda: check_range(-1, 0.5, limits.DELAY_SECONDS_MAX, "delay"), "between 0.5 and 31,622,400; got -1."),
        (lambda: check_whole(None, 1, 10_000, "limit"), "from 1 to 10,000; got None."),
        (lambda: check_choice(["x"] * 1_000, ("a",), "status"), "…."),
    ],
)
def test_a_refusal_shows_a_number_as_a_number_and_a_text_as_a_text(check, words):
    with pytest.raises(Misuse) as refused:
        check()
    assert str(refused.value).endswith(words)
    assert len(str(refused.value)) < 300


def test_a_number_is_written_as_people_write_it():
    numbers = {31_622_401.0: "31,622,401", 0.5: "0.5", 3: "3", 1e30: "1e+30", float("inf"): "inf", -2.0: "-2"}
    small = {1e-6: "0.000001", 0: "0", 1 / 3: "0.333333", 3.000003: "3", 2_500_000.5: "2,500,000"}
    assert number_text(2**63 - 1) == "9,223,372,036,854,775,807"
    assert {number: number_text(number) for number in numbers | small} == numbers | small


def test_a_number_within_its_limits_is_returned():
    assert (check_range(1.5, 1, 100, "x"), check_whole(7, 1, 100, "x")) == (1.5, 7)
    with pytest.raises(OptionInvalid):
        check_whole(1.5, 1, 100, "x")


def test_the_limits_fit_the_columns_they_are_kept_in():
    smallint, integer = 2**15 - 1, 2**31 - 1
    assert -smallint - 1 <= limits.PRIORITY_MIN < limits.PRIORITY_MAX <= smallint
    assert smallint >= limits.ATTEMPTS_MAX
    assert integer >= limits.LEASE_SECONDS_MAX * 1000
    assert integer >= limits.SEGMENTS_MAX
    assert smallint >= limits.STAGES_MAX
    assert re.compile(limits.NAME_PATTERN).match("a")


def test_three_words_mean_that_nothing_will_change():
    assert {status for status in Status if status.settled} == {Status.DONE, Status.ERROR, Status.CANCELLED}
    assert [status.value for status in Status] == ["NEW", "READY", "RUNNING", "DONE", "ERROR", "CANCELLED"]


def test_only_owners_of_one_known_kernel_can_look_each_other_up():
    owner = Owner("h", "boot", "ns", 1, 1)
    assert owner.shares_kernel_with(Owner("other", "boot", "ns", 2, 2))
    assert not owner.shares_kernel_with(Owner("h", "boot2", "ns", 2, 2))
    assert not owner.shares_kernel_with(Owner("h", "boot", "ns2", 2, 2))
    assert not Owner("h", "", "ns", 1, 1).shares_kernel_with(Owner("h", "", "ns", 2, 2))
    assert str(owner) == "h:1"
