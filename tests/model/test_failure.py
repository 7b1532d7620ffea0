"""A user's failed attempt as a value: the class of whatever was raised, and whether it may pass by itself."""

import errno
import json
from http import HTTPStatus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.errors import DatabaseUnavailable, KeyConflict, OptionInvalid, Permanent, Transient, WaitTimeout
from leasehold.model.failure.classify import MEMBERS_MAX
from leasehold.model.failure.codes import by_smtp, by_sqlstate, by_status
from leasehold.model.failure.failure import classify
from leasehold.model.failure.named import NAMES
from leasehold.model.failure.verdict import RETRYABLE, Verdict
from leasehold.model.limits import DELAY_SECONDS_MAX
from tests.support.properties import examples


@pytest.mark.parametrize(
    ("error", "error_class", "retryable"),
    [
        (Permanent("no"), "PERMANENT", False),
        (Permanent("no", error_class="POLICY_REJECTED"), "POLICY_REJECTED", False),
        (Permanent("no", error_class="NETWORK_TIMEOUT"), "NETWORK_TIMEOUT", False),
        (Transient("later"), "TRANSIENT", True),
        (Transient("later", error_class="AUTH_DENIED"), "AUTH_DENIED", True),
        (TimeoutError(), "NETWORK_TIMEOUT", True),
        (ConnectionResetError(), "NETWORK_RESET", True),
        (OSError(errno.ENETUNREACH, "no way"), "NETWORK_RESET", True),
        (OSError(errno.EMFILE, "too many"), "RESOURCES_EXHAUSTED", True),
        (OSError(errno.EDQUOT, "full"), "DISK_FULL", True),
        (MemoryError(), "RESOURCES_EXHAUSTED", True),
        (ZeroDivisionError(), "BUG", False),
        (KeyError("x"), "BUG", False),
        (AssertionError(), "BUG", False),
        (RecursionError(), "BUG", False),
        (ValueError("x"), "UNCLASSIFIED", True),
        (OSError("disk"), "UNCLASSIFIED", True),
        (KeyboardInterrupt(), "UNCLASSIFIED", True),
        (KeyConflict(), "KEY_CONFLICT", False),
        (DatabaseUnavailable(), "DATABASE_UNAVAILABLE", True),
        (WaitTimeout(), "WAIT_TIMEOUT", True),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_every_kind_of_exception_has_its_class(error, error_class, retryable):
    failure = classify(error)
    assert (failure.error_class, failure.retryable) == (error_class, retryable)
    assert type(error).__name__ in failure.message


@pytest.mark.parametrize(
    ("asked", "kept"),
    [(5, 5.0), (0.5, 0.5), (-1, 0.0), (float("nan"), 0.0), ("x", 0.0), (float("inf"), DELAY_SECONDS_MAX)],
)
def test_only_a_usable_retry_after_is_kept(asked, kept):
    assert classify(Transient("x", retry_after=asked)).retry_after == kept


def test_the_class_that_a_handler_names_is_checked_and_may_belong_to_its_type():
    class Declined(Permanent):
        error_class = "CARD_DECLINED"

        def __init__(self):
            """Leave the base's arguments out, as users do."""

    assert classify(Declined()).error_class == "CARD_DECLINED"
    Declined.error_class = "not a class"
    assert classify(Declined()).error_class == "PERMANENT"
    for name in ("", "no", "Mixed_Case", "9TO5", "A B", "X" * 64):
        with pytest.raises(OptionInvalid):
            Permanent("x", error_class=name)
        with pytest.raises(OptionInvalid):
            Transient("x", error_class=name)
        with pytest.raises(OptionInvalid):
            Verdict(name, retryable=True)


def test_a_verdict_that_cannot_be_recorded_is_refused():
    for wrong in ({"retryable": "yes"}, {"retry_after": -1}, {"retry_after": float("nan")}, {"retry_after": "soon"}):
        with pytest.raises(OptionInvalid):
            Verdict("CONFLICT", **{"retryable": True, **wrong})  # type: ignore[arg-type]


def test_the_table_is_the_documents():
    """Its nine rows: the first four are tried again, the others are not."""
    again = {"NETWORK_TIMEOUT", "NETWORK_RESET", "UPSTREAM_UNAVAILABLE", "RATE_LIMITED", "UPSTREAM_ERROR", "CONFLICT"}
    never = {"SCHEMA_INVALID", "AUTH_DENIED", "NOT_FOUND", "POLICY_REJECTED", "BUG"}
    assert all(RETRYABLE[name] for name in again)
    assert not any(RETRYABLE[name] for name in never)
    assert NAMES.keys() <= RETRYABLE.keys()


def test_every_http_status_of_a_failure_has_a_class():
    found = {status.value: by_status(status) for status in HTTPStatus}
    assert {status for status, error_class in found.items() if error_class is None} == {
        status.value for status in HTTPStatus if status < 300
    }
    assert [found[status] for status in (408, 429, 425, 500, 501, 502, 503, 504)] == [
        "NETWORK_TIMEOUT",
        *["RATE_LIMITED"] * 2,
        *["UPSTREAM_ERROR"] * 2,
        *["UPSTREAM_UNAVAILABLE"] * 3,
    ]
    assert {found[status] for status in (409, 412)} == {"CONFLICT"}
    assert {found[status] for status in (400, 413, 415, 422)} == {"SCHEMA_INVALID"}
    assert {found[status] for status in (401, 403, 407)} == {"AUTH_DENIED"}
    assert {found[status] for status in (301, 404, 410)} == {"NOT_FOUND"}
    assert (found[402], found[451]) == ("QUOTA_EXHAUSTED", "POLICY_REJECTED")


def test_codes_that_nobody_assigned_have_no_class():
    assert by_sqlstate("99999") is None
    assert by_smtp(250, b"", []) is None
    assert by_status(600) is None


def stand_in(name: str, *fields: object) -> BaseException:
    """Make an error with the name of a library's that is not installed here; the name is all that is looked at."""
    module, _, kind = name.rpartition(".")
    made: type[Exception] = type(kind, (Exception,), {"__module__": module})
    return made(*fields)


@pytest.mark.parametrize(
    ("name", "error_class"),
    [
        ("httpx.ReadTimeout", "UNCLASSIFIED"),
        ("httpx.TimeoutException", "NETWORK_TIMEOUT"),
        ("httpx.RemoteProtocolError", "NETWORK_RESET"),
        ("requests.exceptions.Timeout", "NETWORK_TIMEOUT"),
        ("requests.exceptions.ConnectionError", "NETWORK_RESET"),
        ("pydantic_core._pydantic_core.ValidationError", "SCHEMA_INVALID"),
        ("elsewhere.ValidationError", "UNCLASSIFIED"),
    ],
)
def test_libraries_are_known_by_name_without_being_imported(name, error_class):
    assert classify(stand_in(name)).error_class == error_class


def test_wrappers_are_opened_where_they_keep_what_happened_and_others_by_their_cause():
    inner = stand_in("urllib3.exceptions.MaxRetryError")
    inner.reason = FileNotFoundError(errno.ENOENT, "absent")  # type: ignore[attr-defined]
    wrapped = classify(stand_in("requests.exceptions.ConnectionError", inner))
    assert (wrapped.error_class, wrapped.context) == ("NOT_FOUND", {"errno": errno.ENOENT})
    other = RuntimeError("mine")
    other.__cause__ = inner
    assert classify(other).error_class == "NOT_FOUND"
    other.__cause__ = None
    other.__context__ = inner
    assert classify(other).error_class == "UNCLASSIFIED"
    inner.reason = inner  # type: ignore[attr-defined]
    assert classify(inner).retryable


def test_a_group_is_final_if_one_of_its_members_is():
    late, early = Transient("a", retry_after=9), Transient("b", retry_after=3)
    again = classify(ExceptionGroup("both", [ValueError(), ExceptionGroup("inner", [early, late])]))
    assert (again.error_class, again.retryable, again.retry_after) == ("TRANSIENT", True, 9)
    never = classify(ExceptionGroup("both", [late, ExceptionGroup("inner", [early, PermissionError(13, "no")])]))
    assert (never.error_class, never.retryable, never.retry_after) == ("AUTH_DENIED", False, 0)
    assert never.context == {"errno": 13}
    assert classify(BaseExceptionGroup("odd", [KeyboardInterrupt()])).error_class == "UNCLASSIFIED"


@pytest.mark.parametrize("before", [100, 150, MEMBERS_MAX - 1])
def test_one_final_member_makes_a_group_final_however_many_come_before_it(before):
    group = ExceptionGroup("many", [*(TimeoutError() for _ in range(before)), PermissionError(13, "no")])
    failure = classify(group)
    assert (failure.error_class, failure.retryable) == ("AUTH_DENIED", False)


def test_a_group_waits_as_long_as_its_most_patient_member_asks_and_is_what_its_first_known_one_is():
    members = [*(ValueError() for _ in range(120)), Transient("soon", retry_after=5), Transient("later", retry_after=9)]
    failure = classify(ExceptionGroup("many", members))
    assert (failure.error_class, failure.retryable, failure.retry_after) == ("TRANSIENT", True, 9)
    assert classify(ExceptionGroup("many", members[:120])).error_class == "UNCLASSIFIED"


def test_a_group_that_holds_itself_a_million_times_over_is_looked_at_up_to_a_limit():
    """Thirty levels of two: a thousand million members, of which so many are judged and no more."""
    group: ExceptionGroup[Exception] = ExceptionGroup("leaf", [TimeoutError()])
    for _ in range(30):
        group = ExceptionGroup("level", [group, group])
    asked: list[BaseException] = []
    failure = classify(group, (asked.append,))
    assert (failure.error_class, failure.retryable) == ("NETWORK_TIMEOUT", True)
    assert len(asked) == MEMBERS_MAX + 1


def test_a_failure_without_facts_stores_none():
    assert set(json.loads(classify(ValueError("x")).text())) == {"error_class", "message", "retryable"}


KINDS = st.sampled_from(
    [ValueError, OSError, KeyError, UnicodeError, TimeoutError, Transient, Permanent, ExceptionGroup]
)
TEXTS = st.text(st.characters() | st.characters(categories=["Cs"]) | st.just("\0"))
FIELDS = st.one_of(
    TEXTS, st.integers(), st.floats(), st.none(), st.booleans(), st.binary(), st.dictionaries(TEXTS, TEXTS)
)


@settings(max_examples=examples(300))
@given(
    KINDS,
    TEXTS,
    st.dictionaries(
        st.sampled_from(
            ["errno", "code", "body", "response", "status", "request", "headers", "sqlstate", "retry_after", "reason"]
        ),
        FIELDS,
    ),
)
def test_any_exception_can_be_stored(kind, text, fields):
    error = kind(text, [ValueError(text)]) if kind is ExceptionGroup else kind(text)
    for name, value in fields.items():
        try:
            setattr(error, name, value)
        except (AttributeError, TypeError):
            continue
    stored = classify(error).text()
    assert "\0" not in stored
    assert stored.encode("utf-8")
    assert json.loads(stored)["error_class"] in RETRYABLE
