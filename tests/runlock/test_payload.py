"""What counts as a lock: exactly what the runbook defines, and nothing similar."""

import json
from typing import Any

import pytest

from leasehold.runlock import LockInvalid, acquire
from leasehold.runlock.payload import microseconds_of, parse, text_of
from tests.runlock.lock_files import FIELDS, NOON, at, traces, write_lock, write_raw

WHOLE = json.dumps(FIELDS).encode()
EMPTY: list[Any] = ["", " \t", 7, None, ["a"], {}]
BAD_TIMES: list[Any] = [
    "",
    1_800_000_000,
    None,
    "2027-01-15T08:00:00",
    "2027-01-15T08:00:00+00:00",
    "2027-01-15T08:00:00z",
    "2027-01-15 08:00:00Z",
    "2027-01-15T08:00:00Z\n",
    "2027-01-15T08:00Z",
    "2027-02-30T08:00:00Z",
    "2027-01-15T25:00:00Z",
    "2027-01-15T08:00:61Z",
    "2027-01-15T08:00:00.1234567Z",
    "٢٠٢٧-01-15T08:00:00Z",
    "0000-01-15T08:00:00Z",
    "noon",
    "1800000000",
]
BAD_FIELDS: list[dict[str, Any]] = [
    *({"pid": pid} for pid in (True, 4711.0, "4711", None, 0, -1, [1], 2**64)),
    *({name: value} for name in ("host", "run_id") for value in EMPTY),
    *({name: value} for name in ("started_at", "last_heartbeat_at") for value in BAD_TIMES),
    {"nonce": "extra"},
]
BAD_BYTES = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"5",
    b"{}",
    b"\0" * 100,
    b"\xff\xfe{}",
    b"\xef\xbb\xbf" + WHOLE,
    WHOLE[:-1],
    WHOLE + b"x",
    WHOLE.replace(b"{", b'{"pid": 1, ', 1),
    WHOLE.replace(b"4711", b"NaN"),
    WHOLE.replace(b"4711", b"4711e0"),
    b"[" * 5_000,
]


def check_refused_untouched(run_dir):
    before = traces(run_dir)
    with pytest.raises(LockInvalid, match=r"^Invalid lock encountered: .* rename it to RUNNING\.invalid") as summary:
        acquire(run_dir, "run-1", now=at(1_000))
    assert summary.value.exit_code == 3
    assert str(summary.value).isprintable()
    assert traces(run_dir) == before


@pytest.mark.parametrize("changed", BAD_FIELDS, ids=str)
def test_a_lock_with_a_field_that_is_not_as_it_should_be_is_invalid_and_left_alone(tmp_path, changed):
    write_lock(tmp_path, **changed)
    check_refused_untouched(tmp_path)


@pytest.mark.parametrize("name", FIELDS)
def test_a_lock_that_lacks_a_field_is_invalid_and_left_alone(tmp_path, name):
    write_raw(tmp_path, json.dumps({key: value for key, value in FIELDS.items() if key != name}).encode())
    check_refused_untouched(tmp_path)


@pytest.mark.parametrize("content", BAD_BYTES, ids=lambda content: repr(content[:12]))
def test_what_is_no_json_object_is_invalid_and_left_alone(tmp_path, content):
    write_raw(tmp_path, content)
    check_refused_untouched(tmp_path)


@pytest.mark.parametrize("ahead", [300.000_001, 301, 3_600, 1e9])
def test_a_heartbeat_far_in_the_future_is_invalid_and_not_active_for_ever(tmp_path, ahead):
    write_lock(tmp_path, 1_000 + ahead)
    check_refused_untouched(tmp_path)


def test_the_whole_lock_of_these_tests_is_valid():
    assert parse(WHOLE).run_id == "run-7"


@pytest.mark.parametrize("microseconds", [0, 1, NOON, NOON + 999_999, -1, 253_402_300_799_999_999])
def test_a_time_is_read_back_as_it_was_written(microseconds):
    assert microseconds_of(text_of(microseconds)) == microseconds
    assert text_of(microseconds).endswith("Z")


@pytest.mark.parametrize(
    ("text", "microseconds"), [("1970-01-01T00:00:01Z", 10**6), ("1970-01-01T00:00:00.5Z", 500_000)]
)
def test_times_without_or_with_short_fractions_are_read(text, microseconds):
    assert microseconds_of(text) == microseconds
