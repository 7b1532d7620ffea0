"""Dates of the source stand in the candidate, in whatever form its language has."""

import pytest

from leasehold.pipelines.translate.reviewers.checks.numbers import check_dates
from tests.pipelines.translate.reviewers.subjects import reviewed


@pytest.mark.parametrize(
    ("source", "candidate", "pair"),
    [
        ("On 12 March 1867 he left.", "El 12 de marzo de 1867 se fue.", "en-es"),
        ("On March 12, 1867, he left.", "Le 12 mars 1867, il partit.", "en-fr"),
        ("On March 12th, 1867, he left.", "Am 12. März 1867 ging er.", "en-de"),
        ("In May 1866", "Em maio de 1866", "en-pt"),
        ("1867-03-12", "12 marzo 1867", "en-it"),
        ("3/12/1867", "12/3/1867", "en-ca"),
        ("1st of April", "1 d’abril", "en-ca"),
        ("Le 1er août 1914", "On August 1, 1914", "fr-en"),
        ("le 3 aou\u0302t 1914", "el 3 de agosto de 1914", "fr-es"),
    ],
)
def test_a_date_may_change_its_form(source, candidate, pair):
    review, findings = reviewed(check_dates, source, candidate, pair=pair)
    assert findings == []
    assert review.scores == {"adequacy": 1.0}


def test_a_changed_date_is_pointed_at():
    source, candidate = "🎉 On 12 March 1867 he left.", "🎉🎉 El 12 de mayo de 1867 se fue."
    review, findings = reviewed(check_dates, source, candidate)
    assert findings == [("date_changed", "12 de mayo de 1867")]
    assert review.findings[0].severity == "critical"
    assert review.scores == {"adequacy": 0.0}


def test_a_lost_date_is_reported_with_its_text():
    review, findings = reviewed(check_dates, "On 12 March 1867 he left.", "Se fue.")
    assert findings == [("date_lost", None)]
    assert "“12 March 1867”" in review.findings[0].message


def test_the_verbs_may_and_march_are_no_months():
    review, findings = reviewed(check_dates, "They may 5 times march 7 miles.", "Pueden 5 veces andar 7 millas.")
    assert (review.scores, findings) == ({}, [])


def test_a_language_whose_months_are_not_known_is_not_judged():
    review, findings = reviewed(check_dates, "On 12 March 1867 he left.", "1867年3月12日", pair="en-zh")
    assert (review.scores, findings) == ({}, [])
