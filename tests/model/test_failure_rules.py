"""A pipeline's own rules on failures: asked first, in order, and never able to hide a failure."""

from types import SimpleNamespace

import pytest

from leasehold.errors import OptionInvalid, Permanent
from leasehold.model.failure.failure import classify
from leasehold.model.failure.verdict import Verdict, make_rules


class Declined(Exception):
    """The customer's bank refuses."""


class DeclinedForNow(Declined):
    """The customer's bank refuses for today."""


def judged(error, failures):
    failure = classify(error, make_rules(failures))
    return failure.error_class, failure.retryable, failure.retry_after


def test_a_type_may_be_given_a_class_or_a_verdict_and_the_nearest_counts():
    rules = {Declined: "POLICY_REJECTED", DeclinedForNow: Verdict("DECLINED", retryable=True, retry_after=60)}
    assert judged(Declined(), rules) == ("POLICY_REJECTED", False, 0)
    assert judged(DeclinedForNow(), rules) == ("DECLINED", True, 60)
    assert judged(TimeoutError(), rules) == ("NETWORK_TIMEOUT", True, 0)


def test_a_class_given_by_name_is_as_final_as_in_the_table_and_an_unknown_one_is_final():
    assert judged(Declined(), {Declined: "RATE_LIMITED"}) == ("RATE_LIMITED", True, 0)
    assert judged(Declined(), {Declined: "CARD_DECLINED"}) == ("CARD_DECLINED", False, 0)


def test_rules_come_before_the_table_and_before_the_class_that_the_handler_names():
    assert judged(KeyError("x"), {KeyError: "UPSTREAM_ERROR"}) == ("UPSTREAM_ERROR", True, 0)
    assert judged(Permanent("x"), {Permanent: Verdict("LATER", retryable=True)}) == ("LATER", True, 0)


def test_a_function_may_judge_or_leave_it_to_the_next():
    def by_text(error: Exception) -> Verdict | None:
        return Verdict("SLOW_DOWN", retryable=True, retry_after=9) if "slow" in str(error) else None

    both = [by_text, {ValueError: "SCHEMA_INVALID"}]
    assert judged(ValueError("slow"), both) == ("SLOW_DOWN", True, 9)
    assert judged(ValueError("bad"), both) == ("SCHEMA_INVALID", False, 0)
    assert judged(OSError("other"), both) == ("UNCLASSIFIED", True, 0)


def test_members_of_a_group_are_judged_by_the_rules_too():
    group = ExceptionGroup("both", [TimeoutError(), Declined()])
    assert judged(group, {Declined: "POLICY_REJECTED"}) == ("POLICY_REJECTED", False, 0)
    assert judged(group, {ExceptionGroup: "CONFLICT"}) == ("CONFLICT", True, 0)


def test_a_rule_does_not_forget_how_long_the_server_asked_to_wait():
    error = Declined()
    error.response = SimpleNamespace(status_code=403, headers={"Retry-After": "30"})  # type: ignore[attr-defined]
    assert classify(error, make_rules({Declined: "RATE_LIMITED"})).server_retry_after == 30
    both = classify(error, make_rules({Declined: Verdict("RATE_LIMITED", retryable=True, retry_after=40)}))
    assert (both.retry_after, both.server_retry_after) == (40, 30)
    assert classify(error, make_rules({Declined: "AUTH_DENIED"})).server_retry_after == 0


@pytest.mark.parametrize("trouble", [RuntimeError("rule\0s are broken"), SystemExit(3), RecursionError()])
def test_a_rule_that_raises_decides_nothing_and_is_noted(trouble):
    def broken(error: Exception) -> None:
        raise trouble

    failure = classify(TimeoutError("t"), make_rules([broken, {OSError: "DISK_FULL"}]))
    assert failure.error_class == "DISK_FULL"
    failure = classify(KeyError("t"), make_rules(broken))
    assert (failure.error_class, failure.retryable) == ("BUG", False)
    assert str(failure.context["rule_error"]).startswith(type(trouble).__name__)
    assert failure.text()


def test_a_rule_that_returns_something_else_is_noted():
    failure = classify(TimeoutError(), make_rules(lambda error: "SCHEMA_INVALID"))  # type: ignore[arg-type,return-value]
    assert failure.error_class == "NETWORK_TIMEOUT"
    assert failure.context == {"rule_error": "TypeError: the rule returned str, not a Verdict"}


def test_what_goes_wrong_in_a_rule_is_redacted_and_short():
    def broken(error: Exception) -> None:
        raise RuntimeError("hunter2" + "x" * 10_000)

    def refuse(text: str) -> str:
        raise RuntimeError("no")

    rules = make_rules(broken)
    found = classify(ValueError(), rules, redact=lambda text: text.replace("hunter2", "[secret]")).context["rule_error"]
    assert str(found).startswith("RuntimeError: [secret]x")
    assert len(str(found)) <= 200
    assert classify(ValueError(), rules, redact=refuse).context == {"rule_error": "RuntimeError"}


@pytest.mark.parametrize(
    "given",
    [
        5,
        "RATE_LIMITED",
        ValueError,
        {ValueError: "no class"},
        {ValueError: None},
        {"ValueError": "BUG"},
        {int: "BUG"},
        [5],
        [[{ValueError: "BUG"}]],
        Verdict("BUG", retryable=False),
    ],
    ids=repr,
)
def test_rules_that_cannot_be_meant_are_refused(given):
    with pytest.raises(OptionInvalid):
        make_rules(given)


def test_no_rules_are_no_rules():
    assert make_rules(None) == make_rules([]) == ()
