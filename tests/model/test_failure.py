"""A user's failed attempt as a value, whatever was raised."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.errors import DatabaseUnavailable, KeyConflict, Permanent, Transient, WaitTimeout
from leasehold.model.failure import classify
from leasehold.model.limits import DELAY_SECONDS_MAX, MESSAGE_LENGTH_MAX, STACK_LENGTH_MAX


@pytest.mark.parametrize(
    ("error", "error_class", "retryable"),
    [
        (Permanent("no"), "PERMANENT", False),
        (Transient("later"), "TRANSIENT", True),
        (TimeoutError(), "NETWORK_TIMEOUT", True),
        (ConnectionResetError(), "NETWORK_RESET", True),
        (ZeroDivisionError(), "BUG", False),
        (KeyError("x"), "BUG", False),
        (AssertionError(), "BUG", False),
        (RecursionError(), "BUG", False),
        (ValueError("x"), "UNCLASSIFIED", True),
        (OSError("disk"), "UNCLASSIFIED", True),
        (KeyConflict(), "KEY_CONFLICT", False),
        (DatabaseUnavailable(), "DATABASE_UNAVAILABLE", True),
        (WaitTimeout(), "WAIT_TIMEOUT", True),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
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


def test_a_failure_tells_where_it_happened():
    def deep(left: int) -> None:
        if left:
            deep(left - 1)
        raise ValueError("here")

    with pytest.raises(ValueError, match="here") as raised:
        deep(200)
    failure = classify(raised.value)
    assert "deep" in failure.stack
    assert len(failure.stack) < STACK_LENGTH_MAX + 100


def test_a_long_text_is_cut_and_says_so():
    failure = classify(ValueError("x" * 50_000_000))
    assert len(failure.message) < MESSAGE_LENGTH_MAX + 100
    assert "characters in all" in failure.message


@settings(derandomize=True)
@given(st.text(st.characters() | st.characters(categories=["Cs"])))
def test_any_text_can_be_stored(text):
    stored = classify(ValueError(text)).text()
    assert "\0" not in stored
    assert stored.encode("utf-8")
    assert json.loads(stored)["error_class"] == "UNCLASSIFIED"
