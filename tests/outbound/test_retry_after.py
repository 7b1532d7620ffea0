"""`Retry-After`: seconds or a date, never negative, never longer than the caller allows."""

import pytest

from leasehold.limits import RETRY_AFTER_SECONDS_MAX
from leasehold.retry_after import seconds_to_wait

NOON = "Sun, 06 Nov 2094 12:00:00 GMT"
NOON_SECONDS = 3_939_883_200.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        (" 120 ", 120),
        ("1.5", 1.5),
        ("0", 0),
        ("", 0),
        ("soon", 0),
        ("-5", 0),
        ("nan", 0),
        ("1e9", 0),
        ("٣", 0),
    ],
)
def test_a_number_of_seconds_is_waited_and_what_is_none_is_not(header, seconds):
    assert seconds_to_wait(header, now=0) == seconds


def test_a_date_counts_from_the_servers_own_clock_where_it_sent_one():
    assert seconds_to_wait("Sun, 06 Nov 2094 12:01:30 GMT", date=NOON, now=0) == 90
    assert seconds_to_wait("Sun, 06 Nov 2094 12:01:30 GMT", now=NOON_SECONDS) == 90
    assert seconds_to_wait("Sun, 06 Nov 2094 12:01:30 GMT", date="yesterday", now=NOON_SECONDS) == 90
    assert seconds_to_wait("Sun, 06 Nov 2094 12:01:30 GMT") == 0


def test_a_date_that_has_passed_is_no_wait():
    assert seconds_to_wait(NOON, now=NOON_SECONDS + 1) == 0


def test_no_server_can_ask_for_more_than_the_callers_limit():
    assert seconds_to_wait("9" * 400, now=0) == RETRY_AFTER_SECONDS_MAX == 86_400
    assert seconds_to_wait(NOON, now=0) == RETRY_AFTER_SECONDS_MAX
    assert seconds_to_wait("1000", now=0, seconds_max=60) == 60
