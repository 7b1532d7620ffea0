"""Roll-out: the same change gets the same version, and the two gates of the document decide from counts alone."""

import pytest

from leasehold.pipelines.review.contract import ExpectedVersions, parse_review
from leasehold.pipelines.review.prompts import (
    PromptUnknown,
    ResponseCounts,
    Rollout,
    RolloutInvalid,
    choose_version,
    count_response,
    judge,
)
from tests.pipelines.review.responses import CHANGED, FINDING, response

NOW = 1_000_000.0
MINUTE = 60.0
CHANGES = [f"change {number}" for number in range(4_000)]


class Canary(Rollout):
    """A roll-out of a version that is not in the package, to distinguish it from the stable one."""

    def __post_init__(self):
        """Accept versions that are not in the package."""


def takers(share):
    rollout = Canary("1.0.0", "1.1.0", share)
    return {change for change in CHANGES if choose_version(rollout, change) == "1.1.0"}


def test_a_growing_share_of_changes_gets_the_new_version_and_keeps_it():
    few, more, all_of_them = takers(0.05), takers(0.25), takers(1)
    assert takers(0) == set()
    assert few < more < all_of_them == set(CHANGES)
    assert len(few) == pytest.approx(200, rel=0.2)
    assert len(more) == pytest.approx(1_000, rel=0.1)
    assert choose_version(Rollout("1.0.0"), "x") == "1.0.0"


def test_a_roll_out_that_cannot_be_is_refused():
    for wrong in ({"share": 1.1}, {"share": -0.1}, {"share": float("nan")}, {"floor": -1}, {"floor": float("nan")}):
        with pytest.raises(RolloutInvalid):
            Rollout("1.0.0", **wrong)
    with pytest.raises(PromptUnknown):
        Rollout("1.0.0", "9.9.9", 0.1)


def counts(minutes, rejected, responses=100, findings=300):
    """Return one count a minute, `minutes` of them up to now, each with a part of the rejected ones."""
    each = [
        ResponseCounts(NOW - minute * MINUTE, responses, responses, rejected, findings) for minute in range(minutes)
    ]
    return [*each, ResponseCounts(NOW - 31 * MINUTE)] if minutes == 30 else each


@pytest.mark.parametrize(("rejected", "alarm"), [(0, False), (4, False), (5, True)])
def test_more_than_twice_the_baseline_for_thirty_minutes_is_an_alarm(rejected, alarm):
    verdict = judge(counts(30, rejected), counts(30, 2), NOW, 1)
    assert (verdict.alarm, verdict.rollback) == (alarm, False)
    assert (verdict.rejected_share, verdict.baseline_share) == (rejected / 100, 0.02)


def test_any_rejection_is_more_than_twice_nothing():
    assert judge(counts(30, 1), counts(30, 0), NOW, 0).alarm
    assert judge(counts(30, 1), [], NOW, 0).alarm
    assert not judge(counts(30, 0), [], NOW, 0).alarm


def test_nothing_is_decided_before_thirty_minutes_or_from_what_is_older():
    assert judge(counts(29, 100, findings=0), counts(30, 0), NOW, 1) == judge(
        counts(29, 100, findings=0), counts(30, 0), NOW, 9
    )
    assert not judge(counts(29, 100), counts(30, 0), NOW, 1).alarm
    later = judge(counts(30, 100, findings=0), counts(30, 0), NOW + 60 * MINUTE, 1)
    assert (later.alarm, later.rollback, later.rejected_share) == (False, False, None)
    assert not judge([], [], NOW, 1).alarm


@pytest.mark.parametrize(("findings", "rollback"), [(200, False), (199, True), (0, True)])
def test_valid_findings_of_each_job_under_the_floor_roll_the_version_back(findings, rollback):
    assert judge(counts(30, 0, findings=findings), counts(30, 0), NOW, 2).rollback == rollback


def test_a_response_is_counted_by_its_result_and_its_diagnostics():
    expected = ExpectedVersions("1.0.0")
    parsed = parse_review(response(FINDING, {**FINDING, "line": "8"}, {**FINDING, "line": 0}), CHANGED, expected)
    assert count_response(parsed, NOW) == ResponseCounts(NOW, 1, 1, 0, 2, 1, 1)
    assert count_response(parse_review("no", CHANGED, expected), NOW, 0) == ResponseCounts(NOW, 0, 1, 1, 0, 0, 0)
