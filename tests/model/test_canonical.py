"""Strict JSON: one text per value, and a typed refusal with the place and the reason."""

import datetime as dt
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold import canonical
from leasehold.errors import PayloadInvalid, PayloadTooDeep, PayloadTooLarge

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner),
    max_leaves=20,
)


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"), float("inf"), -float("inf"), "a\0b", "\ud800", "x\udfff", {"\0": 1}, {"\ud800": 1}, {1: 2},
        {None: 1}, {True: 1}, {(1,): 2}, b"bytes", bytearray(b"x"), {1, 2}, frozenset(), object(), 2**63, -(2**63) - 1,
        10**400, 10**5_000, dt.datetime.now(dt.UTC), dt.date(2026, 1, 1), 1j, iter([1]), (x for x in [1]), print,
        {"a": [{"b": float("nan")}]},
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_is_not_strict_json_is_refused(value):
    with pytest.raises(PayloadInvalid) as refused:
        canonical.encode(value)
    assert refused.value.code == "PAYLOAD_INVALID"
    for around in ({"inside": value}, {"inside": [value]}):
        with pytest.raises(PayloadInvalid):
            canonical.encode(around)


def test_a_refusal_names_the_place_of_the_fault():
    with pytest.raises(PayloadInvalid, match=r"At \$\.user\.tags\[1\]: a text holds NUL"):
        canonical.encode({"user": {"tags": ["ok", "bad\0"]}})


def test_fifty_megabytes_are_refused_before_they_are_written():
    for value in ("x" * 50_000_000, ["x"] * 50_000_000, {"a": "x" * 50_000_000}):
        with pytest.raises(PayloadTooLarge) as refused:
            canonical.encode(value)
        assert refused.value.code == "PAYLOAD_TOO_LARGE"


def test_a_value_that_shares_its_parts_is_measured_as_written():
    value: object = "x" * 100
    for _ in range(12):
        value = [value] * 10
    with pytest.raises(PayloadTooLarge):
        canonical.encode(value)


def test_the_limit_counts_bytes_as_they_are_written():
    limit = canonical.VALUE_BYTES_MAX
    assert len(canonical.encode("x" * (limit - 2))) == limit
    with pytest.raises(PayloadTooLarge):
        canonical.encode("x" * (limit - 1))
    with pytest.raises(PayloadTooLarge):
        canonical.encode("é" * (limit // 2))
    with pytest.raises(PayloadTooLarge):
        canonical.encode("\x01" * (limit // 4))
    with pytest.raises(PayloadTooLarge):
        canonical.encode("abc", limit=4)


def test_depth_of_a_hundred_thousand_is_refused_without_exhausting_the_stack():
    for depth in (canonical.DEPTH_MAX + 1, 100_000):
        with pytest.raises(PayloadTooDeep) as refused:
            canonical.encode(nested(depth))
        assert refused.value.code == "PAYLOAD_TOO_DEEP"
    assert canonical.encode(nested(canonical.DEPTH_MAX))


def test_a_value_that_holds_itself_is_refused():
    value: list = []
    value.append(value)
    with pytest.raises(PayloadTooDeep):
        canonical.encode(value)


def test_one_value_has_one_text():
    assert canonical.encode({"b": 1, "a": (1, 2)}) == canonical.encode({"a": [1, 2], "b": 1}) == '{"a":[1,2],"b":1}'
    assert canonical.encode({"ü": "日本", "a": None}) == '{"a":null,"ü":"日本"}'
    assert canonical.encode([True, False, 1.5, -(2**63), 2**63 - 1]).startswith("[true,false,1.5,-9223372036854775808")


@given(ANYTHING)
def test_any_value_is_kept_exactly_or_refused_by_name(value):
    try:
        text = canonical.encode(value)
    except PayloadInvalid:
        return
    assert canonical.encode(canonical.decode(text)) == text
    assert json.loads(text) == canonical.decode(text)
    assert "\0" not in text


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "-Infinity",
        "1e400",
        '"\\u0000"',
        '"\\ud800"',
        "9223372036854775808",
        '{"a":1,"a":2}',
        "{",
        "",
        "1 2",
        "'a'",
    ],
)
def test_json_from_outside_is_refused_where_our_own_would_be(text):
    with pytest.raises(PayloadInvalid):
        canonical.parse(text)


def test_json_from_outside_that_is_huge_or_deep_is_refused():
    with pytest.raises(PayloadTooLarge):
        canonical.parse("1" * 50_000_000)
    with pytest.raises(PayloadTooDeep):
        canonical.parse("[" * 100_000)
    with pytest.raises(PayloadTooDeep):
        canonical.parse("[" * 65 + "]" * 65)
    assert canonical.parse(' {"a": [1, 2.5, "x"]} ') == {"a": [1, 2.5, "x"]}
