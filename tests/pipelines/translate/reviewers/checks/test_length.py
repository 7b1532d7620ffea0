"""A candidate is about as long as its source; a short one may differ more."""

import pytest

from leasehold.pipelines.translate.reviewers.checks.form import check_length, within
from tests.pipelines.translate.reviewers.subjects import reviewed

SENTENCE = "Alice was beginning to get very tired of sitting by her sister on the bank."


@pytest.mark.parametrize(
    ("candidate", "pair"),
    [
        ("Alicia empezaba a cansarse mucho de estar sentada junto a su hermana en la orilla.", "en-es"),
        ("爱丽丝挨着姐姐坐在河岸上，没有事情可做，开始觉得厌倦极了。", "en-zh"),
    ],
)
def test_a_usual_length_is_full_adequacy(candidate, pair):
    review, findings = reviewed(check_length, SENTENCE, candidate, pair=pair)
    assert (review.scores, findings) == ({"adequacy": 1.0}, [])


def test_half_a_translation_and_a_runaway_one_are_distinguished():
    short, found_short = reviewed(check_length, SENTENCE, "Alicia empezaba a cansarse")
    long, found_long = reviewed(check_length, SENTENCE, "Alicia empezaba a cansarse mucho. " * 9)
    assert (found_short, found_long) == ([("too_short", None)], [("too_long", None)])
    assert short.scores["adequacy"] < 0.5
    assert long.scores["adequacy"] < 0.5


def test_a_short_source_may_become_long():
    assert reviewed(check_length, "Yes.", "Desde luego.")[0].scores == {"adequacy": 1.0}


def test_an_empty_candidate_is_critical():
    review, findings = reviewed(check_length, "Yes.", " ")
    assert findings == [("empty_candidate", None)]
    assert review.findings[0].severity == "critical"
    assert review.scores == {"adequacy": 0.0}


def test_signs_alone_are_right_if_they_are_the_same():
    assert reviewed(check_length, "* * *", "* * *")[0].scores == {"adequacy": 1.0}
    assert reviewed(check_length, "* * *", "—")[0].scores == {}


def test_the_score_falls_in_straight_lines():
    bands = (0.2, 0.6, 1.8, 4.0)
    assert [within(ratio, bands) for ratio in (0.1, 0.2, 0.6, 1.8, 4.0, 9.0)] == [0, 0, 1, 1, 0, 0]
    assert within(0.4, bands) == pytest.approx(0.5)
    assert within(2.9, bands) == pytest.approx(0.5)
