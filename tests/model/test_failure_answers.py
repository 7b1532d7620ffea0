"""HTTP answers that an exception carries: the class, how long to wait, and the few facts that are kept."""

from types import SimpleNamespace

import pytest

from leasehold.model.failure.failure import Failure, classify
from leasehold.model.limits import DELAY_SECONDS_MAX

NOON = 784_123_200 * 1_000_000  # Sun, 06 Nov 1994 12:00:00 GMT


class Refused(Exception):
    """An error as clients raise it: whatever they answered hangs on it."""

    def __init__(self, response: object = None, **fields: object) -> None:
        super().__init__("refused")
        self.response = response
        vars(self).update(fields)


def carried(status: object, headers: object = None, *, now: int | None = None, **fields: object) -> Failure:
    return classify(Refused(SimpleNamespace(status_code=status, headers=headers), **fields), now=now)


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        ("  120 ", 120),
        ("1.5", 1.5),
        (b"7", 7),
        (7, 7),
        ("9" * 30, DELAY_SECONDS_MAX),
        ("-5", 0),
        ("+5", 0),
        ("1e3", 0),
        ("inf", 0),
        ("nan", 0),
        ("soon", 0),
        ("", 0),
        ("٣", 0),
        ("5, 7", 0),
        ("Sun, 06 Nov 1994 12:02:00 GMT", 120),
        ("Sunday, 06-Nov-94 12:02:00 GMT", 120),
        ("Sun Nov  6 12:02:00 1994", 120),
        ("Sun, 06 Nov 1994 11:00:00 GMT", 0),
        ("Sun, 99 Nov 1994 12:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", DELAY_SECONDS_MAX),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_anything_else_is_ignored(asked, seconds):
    assert carried(429, {"Retry-After": asked}, now=NOON).server_retry_after == seconds


def test_a_date_is_measured_by_the_answers_own_date_before_the_local_clock():
    there = {"retry-after": "Sun, 06 Nov 1994 12:02:00 GMT", "DATE": "Sun, 06 Nov 1994 12:01:00 GMT"}
    assert carried(503, there, now=NOON).server_retry_after == 60
    assert carried(503, there).server_retry_after == 60
    assert carried(503, {"Retry-After": there["retry-after"]}).server_retry_after == 0


def test_only_a_failure_that_is_tried_again_waits():
    assert carried(403, {"Retry-After": "60"}).server_retry_after == 0
    assert carried(500, {"Retry-After": "60"}).server_retry_after == 60


@pytest.mark.parametrize(
    "headers", [None, "text", 5, [("Retry-After", "5")], {"Retry-After": None}, {None: "5"}, SimpleNamespace(items=5)]
)
def test_headers_that_cannot_be_parsed_are_ignored(headers):
    failure = carried(429, headers)
    assert (failure.error_class, failure.server_retry_after) == ("RATE_LIMITED", 0)


@pytest.mark.parametrize("status", [None, "429", True, 4.29, 99, 600, 10**30, 200, 204])
def test_what_is_no_failing_status_decides_nothing(status):
    assert carried(status).error_class == "UNCLASSIFIED"


def test_the_status_is_found_under_both_of_its_names():
    assert classify(Refused(SimpleNamespace(status=404))).context == {"http_status": 404}
    assert classify(Refused(SimpleNamespace(status_code=None, status=404))).error_class == "NOT_FOUND"


class Touchy(Exception):
    """An error whose properties raise, as some do before they are complete."""

    @property
    def response(self) -> object:
        raise RuntimeError("not yet")

    request = body = code = errno = response


class Hostile(OSError):
    """An error that nothing can be learnt from."""

    __module__ = "builtins"

    def __getattribute__(self, name: str) -> object:
        raise RuntimeError(name)


def test_properties_that_raise_are_taken_for_absent():
    for error in (Touchy("x"), Hostile("x")):
        failure = classify(error)
        assert (failure.error_class, failure.context) == ("UNCLASSIFIED", {})
        assert type(error).__name__ in failure.message


@pytest.mark.parametrize(
    ("status", "fields", "error_class"),
    [
        (429, {"code": "insufficient_quota"}, "QUOTA_EXHAUSTED"),
        (429, {"code": "rate_limit_exceeded"}, "RATE_LIMITED"),
        (400, {"code": "content_policy_violation", "body": {"type": "api_error"}}, "POLICY_REJECTED"),
        (None, {"body": {"type": "error", "error": {"type": "overloaded_error"}}}, "UPSTREAM_UNAVAILABLE"),
        (None, {"body": {"error": {"code": "internal_error"}}}, "UPSTREAM_ERROR"),
        (404, {"code": "unheard_of", "body": {"error": "text"}}, "NOT_FOUND"),
        (404, {"code": ["unhashable"], "body": {"code": {}}}, "NOT_FOUND"),
    ],
)
def test_a_providers_own_code_decides_before_the_status(status, fields, error_class):
    assert carried(status, **fields).error_class == error_class


def test_facts_are_an_allow_list_and_each_is_checked():
    request = SimpleNamespace(
        url="https://carol:hunter2@api.example.com:8443/v1/secret?key=abc", method="POST", headers={"Cookie": "x"}
    )
    headers = {"X-Request-Id": "req-1", "Set-Cookie": "session=abc", "Retry-After": "5"}
    failure = carried(500, headers, request=request)
    assert failure.context == {
        "http_status": 500,
        "request_id": "req-1",
        "method": "POST",
        "host": "api.example.com",
    }


@pytest.mark.parametrize(
    ("request_id", "url", "method"),
    [
        ("a b", "http://[::1", "get it"),
        ("x\0y", "not a url", "POST\n"),
        ("", "http://exa mple/", 5),
        ("\ud800", None, None),
        ("ü", "http://" + "a" * 300, "G" * 21),
    ],
)
def test_a_fact_that_is_not_what_it_should_be_is_left_out(request_id, url, method):
    request = SimpleNamespace(url=url, method=method)
    assert carried(500, {"X-Request-Id": request_id}, request=request).context == {"http_status": 500}


def test_numbers_that_the_databases_cannot_keep_are_left_out():
    assert classify(OSError(10**30, "x")).context == {}
    assert classify(OSError("five", "x")).context == {}
    assert classify(OSError(5, "x")).context == {"errno": 5}


def test_an_error_that_nobody_knows_is_judged_by_what_it_was_raised_from():
    wrapped = RuntimeError("fetch failed")
    wrapped.__cause__ = Refused(SimpleNamespace(status_code=429, headers={"Retry-After": "90"}))
    assert (classify(wrapped).error_class, classify(wrapped).server_retry_after) == ("RATE_LIMITED", 90)
    wrapped.__cause__ = ValueError("between")
    wrapped.__cause__.__cause__ = Refused(SimpleNamespace(status_code=403, headers={}))
    assert (classify(wrapped).error_class, classify(wrapped).retryable) == ("AUTH_DENIED", False)
