"""The gate: which outcome, reasons and priority follow from reviews, scores and what went before."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.pipelines.translate.gate import (
    Assessment,
    Outcome,
    Priority,
    ReworkReason,
    Thresholds,
    ThresholdsInvalid,
    assess,
)
from leasehold.pipelines.translate.reviewers.review import Review, ReviewFinding, Severity

FINE = Review("fine", {"adequacy": 0.9, "fluency": 0.9}, ())


def judged(*reviews, attempt=1, attempts_max=4, **options) -> Assessment:
    thresholds = options.pop("thresholds", Thresholds())
    return assess(reviews, thresholds, attempt=attempt, attempts_max=attempts_max, **options)


def review(name="a", *, critical=(), minor=(), info=(), **scores):
    graded = [(critical, Severity.CRITICAL), (minor, Severity.MINOR), (info, Severity.INFO)]
    return Review(
        name, scores, tuple(ReviewFinding(code, severity, "m") for codes, severity in graded for code in codes)
    )


def test_a_good_candidate_is_accepted_without_reasons():
    assert judged(FINE) == Assessment(
        {"adequacy": 0.9, "fluency": 0.9, "composite": 0.9}, Outcome.ACCEPT, (), Priority.LOW, ()
    )


def test_notes_are_what_is_more_than_information():
    assert judged(FINE, review(info=["x"])).outcome == "accept"
    assert judged(FINE, review(minor=["x"])).outcome == "accept_with_notes"


def test_adequacy_and_terminology_are_the_lowest_and_the_others_the_mean():
    first = review(adequacy=1.0, fluency=1.0, terminology=1.0, style=1.0)
    second = review("b", adequacy=0.6, fluency=0.7, terminology=0.9, style=0.6)
    third = review("c", fluency=0.7, style=0.5)
    assert judged(first, second, third).scores == {
        "adequacy": 0.6,
        "fluency": 0.8,
        "terminology": 0.9,
        "style": 0.7,
        "composite": round(0.5 * 0.6 + 0.3 * 0.8 + 0.1 * 0.9 + 0.1 * 0.7, 4),
    }


def test_the_composite_weighs_only_what_was_scored():
    assert judged(review(adequacy=1.0, fluency=0.6)).scores["composite"] == round((0.5 + 0.3 * 0.6) / 0.8, 4)


@pytest.mark.parametrize(
    ("score", "reason", "priority"),
    [
        ("adequacy", "low_adequacy", "high"),
        ("fluency", "low_fluency", "medium"),
        ("terminology", "terminology_violation", "medium"),
        ("style", "style_violation", "low"),
    ],
)
def test_a_score_below_its_threshold_is_reworked_for_its_reason(score, reason, priority):
    fine = {"adequacy": 1.0, "fluency": 1.0, "terminology": 1.0, "style": 1.0}
    least = getattr(Thresholds(), score)
    assert judged(review(**fine | {score: least})).outcome == "accept"
    weak = judged(review(**fine | {score: least - 0.01}))
    assert (weak.outcome, weak.reasons, weak.priority) == ("rework", (reason,), priority)


def test_a_critical_finding_is_reworked_whatever_the_scores():
    number = judged(FINE, review(critical=["number_lost"], adequacy=0.99))
    assert (number.outcome, number.reasons, number.priority) == ("rework", ("low_adequacy",), "critical")
    language = judged(FINE, review(critical=["wrong_language"], fluency=0.99))
    assert language.reasons == ("low_fluency",)


def test_a_critical_finding_of_a_reviewer_without_scores_is_a_breach_of_policy():
    assert judged(FINE, review(critical=["kept_lost"])).reasons == ("policy_violation",)


def test_a_low_composite_names_the_score_nearest_to_failing():
    thresholds = Thresholds(adequacy=0.5, fluency=0.5, composite=0.95)
    weak = judged(review(adequacy=0.9, fluency=0.7), thresholds=thresholds)
    assert (weak.outcome, weak.reasons) == ("rework", ("low_fluency",))


@pytest.mark.parametrize("given_scores", [{}, {"adequacy": 1.0}, {"fluency": 1.0}, {"style": 1.0}])
def test_what_nobody_could_judge_goes_to_a_person(given_scores):
    unjudged = judged(review(**given_scores))
    assert unjudged.outcome == "rework"
    assert ReworkReason.HUMAN_FLAG in unjudged.reasons
    assert {"adequacy", "fluency", "composite"} <= unjudged.scores.keys()
    assert 0.0 in unjudged.scores.values()


def test_the_same_failure_twice_goes_to_a_person():
    failing = review(critical=["number_lost"], minor=["x"], adequacy=0.9, fluency=0.9)
    first = judged(failing)
    second = judged(failing, attempt=2, earlier=[first])
    assert (first.reasons, first.priority) == (("low_adequacy",), "critical")
    assert (second.outcome, second.reasons) == ("rework", ("low_adequacy", "human_flag"))


def test_a_third_time_after_a_person_sent_it_round_is_flagged_again():
    failing = review(adequacy=0.1, fluency=0.9)
    second = judged(failing, attempt=2, earlier=[judged(failing)])
    third = judged(failing, attempt=3, earlier=[judged(failing), second])
    assert second.reasons == third.reasons == ("low_adequacy", "human_flag")
    assert second.priority == "high"


def test_information_does_not_hide_that_a_failure_is_the_same():
    first = judged(review(critical=["number_lost"], info=["unknown_name"], adequacy=0.9, fluency=0.9))
    again = judged(review(critical=["number_lost"], adequacy=0.9, fluency=0.9), attempt=2, earlier=[first])
    assert ReworkReason.HUMAN_FLAG in again.reasons


@pytest.mark.parametrize(
    "other",
    [
        review(critical=["date_lost"], adequacy=0.9, fluency=0.9),
        review(critical=["number_lost"], adequacy=0.9, fluency=0.1),
    ],
)
def test_another_failure_goes_round_again(other):
    first = judged(review(critical=["number_lost"], adequacy=0.9, fluency=0.9))
    again = judged(other, attempt=2, earlier=[first])
    assert again.outcome == "rework"
    assert ReworkReason.HUMAN_FLAG not in again.reasons


def test_only_the_judgement_just_before_is_compared():
    failing, other = review(adequacy=0.1, fluency=0.9), review(adequacy=0.9, fluency=0.1)
    third = judged(failing, attempt=3, earlier=[judged(failing), judged(other)])
    assert third.reasons == ("low_adequacy",)


def test_the_same_candidate_again_goes_to_a_person_even_with_other_findings():
    again = judged(review(adequacy=0.1, fluency=0.9), attempt=2, earlier=[judged(FINE)], repeated=True)
    assert again.reasons == ("low_adequacy", "human_flag")
    assert judged(FINE, attempt=2, repeated=True).outcome == "accept"


def test_with_no_attempts_left_it_is_rejected_with_its_reasons():
    failing = review(critical=["number_lost"], adequacy=0.9, fluency=0.9)
    last = judged(failing, attempt=4, earlier=[judged(failing)])
    assert (last.outcome, last.reasons) == ("reject", ("low_adequacy",))
    assert judged(FINE, attempt=4).outcome == "accept"


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan, True, "0.5"])
def test_a_threshold_outside_of_its_limits_is_refused_by_name(wrong):
    with pytest.raises(ThresholdsInvalid, match="fluency"):
        Thresholds(fluency=wrong)


SCORES = st.dictionaries(st.sampled_from(["adequacy", "fluency", "terminology", "style"]), st.floats(0, 1))
FINDINGS = st.builds(ReviewFinding, st.sampled_from(["a", "b"]), st.sampled_from(Severity), st.just("m"))
REVIEWS = st.lists(st.builds(Review, st.just("r"), SCORES, st.lists(FINDINGS, max_size=3).map(tuple)), max_size=5)


@given(REVIEWS, REVIEWS, st.integers(1, 4))
def test_every_judgement_keeps_the_contract_of_its_rows(reviews, before, attempt):
    earlier = [judged(*before)] if attempt > 1 else []
    assessment = judged(*reviews, attempt=attempt, earlier=earlier)
    assert {"adequacy", "fluency", "composite"} <= assessment.scores.keys()
    assert all(0 <= score <= 1 and score == round(score, 4) for score in assessment.scores.values())
    assert bool(assessment.reasons) == (assessment.outcome in {"rework", "reject"})
    assert list(assessment.reasons) == [reason for reason in ReworkReason if reason in assessment.reasons]
    assert assessment == judged(*reviews, attempt=attempt, earlier=earlier)
    is_critical = any(finding.severity == "critical" for finding in assessment.findings)
    assert not (is_critical and assessment.outcome in {"accept", "accept_with_notes"})


@given(REVIEWS)
def test_scores_do_not_depend_on_who_reviewed_first(reviews):
    assert judged(*reviews).scores == judged(*reversed(reviews)).scores


def test_a_judgement_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        judged(FINE).outcome = Outcome.REJECT  # type: ignore[misc]
