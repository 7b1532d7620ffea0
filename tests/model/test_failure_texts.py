"""What is written down of an error: sanitised first, then cut; and withheld when it cannot be sanitised."""

import json
from typing import NoReturn

import pytest

from leasehold.model.failure.failure import classify
from leasehold.model.failure.wording import LINKS_MAX, WINDOW_LENGTH, WITHHELD
from leasehold.model.limits import MESSAGE_LENGTH_MAX, STACK_LENGTH_MAX

SECRET = "sk-live-0123456789abcdefghijklmnop"  # noqa: S105 — of nobody


def hide(text: str) -> str:
    """Redact whole secrets only, as a pattern would."""
    return text.replace(SECRET, "[secret]")


def refuse(text: str) -> NoReturn:
    raise RuntimeError(f"cannot redact {text}")


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    """Return an error as it is after it was raised, with frames."""
    try:
        raise error from cause  # noqa: TRY301 — this is where it happens
    except BaseException as caught:  # noqa: BLE001
        return caught


def test_a_failure_names_where_it_happened():
    def deep(left: int) -> None:
        if left:
            deep(left - 1)
        raise ValueError("here")

    with pytest.raises(ValueError, match="here") as caught:
        deep(200)
    failure = classify(caught.value)
    assert "deep" in failure.stack
    assert len(failure.stack) < STACK_LENGTH_MAX + 100


def test_a_long_text_is_cut_and_marked_as_cut():
    failure = classify(ValueError("x" * 50_000_000))
    assert len(failure.message) < MESSAGE_LENGTH_MAX + 100
    assert "50,000,012 characters in all" in failure.message


def test_ten_megabytes_are_looked_at_only_as_far_as_they_could_be_kept():
    seen = []

    def read_attribute(text: str) -> str:
        seen.append(len(text))
        return text

    classify(ValueError("x" * 10_000_000), redact=read_attribute)
    assert max(seen) <= WINDOW_LENGTH


def test_secrets_are_taken_out_of_message_stack_and_chain_by_default():
    password = "correct-horse-battery-9"  # noqa: S105 — of nobody
    error = raised(
        RuntimeError(f"postgresql://carol:{password}@db.example.com/shop refused password={password}"),
        raised(KeyError(f"Authorization: Bearer {password}{password}")),
    )
    failure = classify(error)
    assert password not in failure.text()
    assert "db.example.com" in failure.message
    assert "caused by KeyError" in failure.stack


def test_a_text_is_sanitised_before_it_is_cut():
    for before in range(MESSAGE_LENGTH_MAX - 60, MESSAGE_LENGTH_MAX + 10):
        message = classify(ValueError("x" * before + SECRET + "y" * 9_000), redact=hide).message
        assert "sk-live" not in message


def test_a_secret_cut_in_half_by_the_window_does_not_leak():
    """So much is redacted that the window's end comes within the limit, unless the margin is dropped."""
    head = SECRET * (WINDOW_LENGTH // len(SECRET) - 10)
    for before in range(len(SECRET)):
        text = head + "x" * (WINDOW_LENGTH - len(head) - before - len("ValueError: ")) + SECRET * 1_000
        message = classify(ValueError(text), redact=lambda seen: hide(seen).replace("[secret]", "")).message
        assert "sk-live" not in message


def test_what_cannot_be_redacted_is_withheld_and_the_failure_is_recorded():
    error = raised(ConnectionResetError(104, f"with {SECRET}"), ValueError(SECRET))
    failure = classify(error, redact=refuse)
    assert failure.message == f"ConnectionResetError: {WITHHELD}"
    assert failure.stack == ""
    assert (failure.error_class, failure.retryable, failure.context) == ("NETWORK_RESET", True, {"errno": 104})
    assert SECRET not in failure.text()


def test_facts_are_redacted_too_and_left_out_when_they_cannot_be():
    class HttpResponse:
        status_code = 500
        headers = {"X-Request-Id": SECRET}  # noqa: RUF012

    error = ValueError("x")
    error.response = HttpResponse()  # type: ignore[attr-defined]
    assert classify(error, redact=hide).context == {"http_status": 500, "request_id": "[secret]"}
    assert classify(error, redact=refuse).context == {"http_status": 500}


def test_the_stack_lists_the_chain_of_errors_and_their_texts_are_redacted():
    failure = classify(raised(RuntimeError("last"), raised(KeyError(SECRET), raised(OSError("first")))), redact=hide)
    assert "caused by KeyError: '[secret]'" in failure.stack
    assert "caused by OSError: first" in failure.stack
    assert failure.stack.index("KeyError") < failure.stack.index("OSError")
    assert failure.stack.count("test_failure_texts.py") == 3


def test_the_stack_lists_what_was_being_handled_unless_that_is_suppressed():
    empty: dict[str, str] = {}

    def fail(*, is_suppressed: bool) -> None:
        try:
            empty["first"]
        except KeyError:
            if is_suppressed:
                raise ValueError("second") from None
            raise ValueError("second")  # noqa: B904 — the context is the point

    with pytest.raises(ValueError, match="second") as loud:
        fail(is_suppressed=False)
    with pytest.raises(ValueError, match="second") as quiet:
        fail(is_suppressed=True)
    assert "while handling KeyError: 'first'" in classify(loud.value).stack
    assert "KeyError" not in classify(quiet.value).stack


def test_a_chain_that_goes_round_or_has_no_end_is_cut():
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert classify(first).stack.count("caused by") == 1
    long: BaseException = ValueError("end")
    for _ in range(100):
        long = raised(ValueError("x" * 100_000), long)
    assert classify(long).stack.count("caused by") == LINKS_MAX
    assert len(classify(long).stack) < STACK_LENGTH_MAX + 100


@pytest.mark.parametrize("text", ["nul \0 here", "\ud800 alone", "\x1b[31mred\r\n", "\0" * 300_000])
def test_texts_that_databases_refuse_are_kept_cleaned(text):
    stored = classify(raised(ValueError(text), ValueError(text))).text()
    assert json.loads(stored)["message"].startswith("ValueError: ")
    assert "\0" not in json.loads(stored)["stack"]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no details")


class Odd(str):
    __slots__ = ()


class Strange(Exception):
    def __str__(self) -> str:
        return Odd("a text of another type")


def test_an_error_without_a_readable_text_is_recorded_by_its_name():
    assert classify(Unspeakable()).message == "Unspeakable: (its text cannot be read)"
    assert classify(ValueError()).message == "ValueError"
    assert "another type" in classify(Strange()).text()
