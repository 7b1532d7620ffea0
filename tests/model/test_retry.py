"""When a failed attempt is tried again: the policy's table, repeatable from its seed."""

import itertools
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.errors import OptionInvalid
from leasehold.model.failure.failure import Failure
from leasehold.model.retry import Bury, Retry, RetryAt, decide, jitter_of, seed_of

RETRY = Failure("UNCLASSIFIED", "x", retryable=True)


def after(attempt: int, policy: Retry | None = None, jitter=1.0, failure=RETRY) -> float:
    decision = decide(failure, attempt, 1000, policy or Retry(), jitter)
    assert isinstance(decision, RetryAt)
    return decision.delay


def test_the_default_policy_is_the_documents_table():
    policy = Retry()
    assert (policy.attempts, policy.delay_initial, policy.multiplier) == (5, 1, 2)
    assert (policy.delay_max, policy.delay_ceiling) == (60, 300)
    assert [after(attempt) for attempt in range(1, 10)] == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_the_jitter_spreads_over_the_whole_delay():
    assert [after(4, jitter=jitter) for jitter in (0.0, 0.25, 1.0)] == [0, 2, 8]


def test_the_fifth_attempt_is_the_last():
    for attempt in range(1, 5):
        assert isinstance(decide(RETRY, attempt, 5, Retry(), 0.5), RetryAt)
    assert decide(RETRY, 5, 5, Retry(), 0.5) == Bury("attempts exhausted")


def test_what_is_not_retryable_is_buried_at_the_first_attempt():
    assert decide(Failure("PERMANENT", "x"), 1, 5, Retry(), 0.5) == Bury("not retryable")


def test_a_servers_retry_after_is_a_floor_and_five_minutes_are_the_ceiling():
    def asking(seconds: float) -> Failure:
        return Failure("RATE_LIMITED", "x", retryable=True, server_retry_after=seconds)

    assert after(1, jitter=0.0, failure=asking(7)) == 7
    assert after(5, jitter=1.0, failure=asking(7)) == 16
    assert after(1, failure=asking(10_000)) == 300
    assert after(1, Retry(delay_max=10, delay_ceiling=20), failure=asking(30)) == 20


def test_the_delay_that_a_handler_asks_for_is_kept_beyond_the_ceiling():
    asking = Failure("TRANSIENT", "x", retryable=True, retry_after=86_400)
    assert after(1, failure=asking) == 86_400
    assert after(7, jitter=1.0, failure=Failure("TRANSIENT", "x", retryable=True, retry_after=2)) == 60


def test_a_ceiling_below_the_longest_backoff_is_refused():
    with pytest.raises(OptionInvalid, match=r"delay_ceiling \(20 s\) is less than Retry.delay_max \(60 s\)"):
        Retry(delay_ceiling=20)
    assert Retry(delay_max=20, delay_ceiling=20).delay_ceiling == 20


def test_a_huge_multiplier_does_not_overflow():
    assert after(999, Retry(attempts=1000, multiplier=1000)) == 60


@given(
    st.integers(1, 999),
    st.floats(0, 1),
    st.floats(0, 1e6),
    st.builds(Retry, delay_initial=st.floats(0, 1e5), multiplier=st.floats(1, 100), delay_max=st.floats(0, 300)),
)
def test_a_delay_always_lies_between_its_floor_and_the_ceiling(attempt, jitter, floor, policy):
    failure = Failure("RATE_LIMITED", "x", retryable=True, server_retry_after=floor)
    delay = after(attempt, policy, jitter, failure)
    assert min(floor, policy.delay_ceiling) <= delay <= policy.delay_ceiling


@pytest.mark.parametrize(
    "options",
    [
        {"attempts": 0}, {"attempts": 1001}, {"attempts": 2.5}, {"attempts": True}, {"attempts": "5"},
        {"multiplier": 0.5}, {"delay_initial": -1}, {"delay_max": float("nan")}, {"delay_ceiling": float("inf")},
    ],
    ids=repr,
)  # fmt: skip
def test_a_policy_that_could_never_work_is_refused(options):
    with pytest.raises(OptionInvalid) as refused:
        Retry(**options)
    assert refused.value.code == "OPTION_INVALID"


def test_the_same_attempt_has_the_same_jitter_on_any_machine():
    seed = seed_of("key", "film/audio", 3, 1, 2)
    assert seed == "film/audio|key|3|1|2"
    assert jitter_of(seed) == 0x5F76016E75901C29 / 2**64  # the first eight bytes of its sha256


def test_every_attempt_has_a_jitter_of_its_own():
    seeds = itertools.starmap(seed_of, itertools.product("ab", ("x", "x/y"), (None, 0, 1), (1, 2), (1, 2)))
    assert len({jitter_of(seed) for seed in seeds}) == 48


def test_the_jitter_is_spread_evenly():
    drawn = [jitter_of(seed_of(str(number), "a", None, 1, 1)) for number in range(2000)]
    assert all(0 <= jitter < 1 for jitter in drawn)
    assert statistics.mean(drawn) == pytest.approx(0.5, abs=0.03)
