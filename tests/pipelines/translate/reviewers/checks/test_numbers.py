"""Numbers of the source stand in the candidate, written as its language writes them."""

import pytest

from leasehold.pipelines.translate.reviewers.checks.numbers import check_numbers
from tests.pipelines.translate.reviewers.subjects import reviewed


def found(source, candidate, **options):
    review, findings = reviewed(check_numbers, source, candidate, **options)
    return dict(review.scores), findings


@pytest.mark.parametrize(
    ("source", "candidate", "pair"),
    [
        ("It weighed 1,500.75 tons.", "Pesaba 1.500,75 toneladas.", "en-es"),
        ("It weighed 1,500.75 tons.", "Pesaba 1 500,75 toneladas.", "en-es"),
        ("It weighed 1,500.75 tons.", "Elle pesait 1\u202f500,75 tonnes.", "en-fr"),
        ("It weighed 1,500.75 tons.", "Pesaba 1,500.75 toneladas.", "en-es-MX"),
        ("Es wog 1.500,75 Tonnen.", "It weighed 1,500.75 tons.", "de-en"),
        ("1,000,000 people", "1.000.000 de personas", "en-es"),
        ("It is 3.50 euros.", "Son 3,5 euros.", "en-es"),
        ("the year 1866", "العام ١٨٦٦", "en-ar"),
        ("the 19th century", "el siglo XIX", "en-es"),
        ("She has 3 cats.", "Tiene tres gatos.", "en-es"),
        ("She has three cats.", "Tiene 3 gatos.", "en-es"),
        ("version 1.2.3 of 192.168.0.1", "versión 1.2.3 de 192.168.0.1", "en-es"),
        ("At 5:30 p.m. on 3 May", "Um 17:30 am 3. Mai", "en-de"),
        ("Um 17 Uhr", "At 5 pm", "de-en"),
        ("She has 3 cats.", "彼女は猫を3匹飼っている。", "en-ja"),
        ("from 7 to 5", "de 5 a 7", "en-es"),
        ("H2O and B12", "H2O y B12", "en-es"),
    ],
)
def test_a_number_may_be_written_as_its_language_writes_it(source, candidate, pair):
    scores, findings = found(source, candidate, pair=pair)
    assert findings == []
    assert scores in ({}, {"adequacy": 1.0, "style": 1.0}, {"adequacy": 1.0})


def test_a_lost_number_is_critical_and_lowers_adequacy():
    review, findings = reviewed(check_numbers, "From 1866 to 1871, 12 ships.", "De 1866 a 1871, unos barcos.")
    assert findings == [("number_lost", None)]
    assert review.findings[0].severity == "critical"
    assert "“12”" in review.findings[0].message
    assert review.scores["adequacy"] == 0.6667


def test_a_changed_number_is_pointed_at_behind_an_emoji():
    scores, findings = found("🐳 In 1866 it was seen.", "🐳👩‍🚀 En 1686 fue vista.")
    assert findings == [("number_lost", None), ("number_added", "1686")]
    assert scores["adequacy"] == 0


def test_a_number_that_the_source_does_not_have_is_found():
    scores, findings = found("Many ships were lost.", "Se perdieron 300 barcos.")
    assert findings == [("number_added", "300")]
    assert scores == {"adequacy": 0.0}


def test_foreign_separators_are_a_note_on_style_not_a_loss():
    scores, findings = found("It weighed 1,500.75 tons.", "Pesaba 1,500.75 toneladas.")
    assert findings == [("number_format", "1,500.75")]
    assert scores == {"adequacy": 1.0, "style": 0.5}


def test_a_number_twice_in_the_source_is_wanted_twice():
    assert found("5 and 5 more", "5 y más")[1] == [("number_lost", None)]


def test_a_date_with_its_month_as_a_word_keeps_its_numbers():
    assert found("On 12/03/1867 at 5.", "El 12 de marzo de 1867 a las 5.")[1] == []


def test_numbers_of_protected_pieces_and_addresses_are_not_counted():
    scores, findings = found(
        "Run `head -n 20` on https://example.org/7.",
        "Haz `head -n 20` en https://example.org/7.",
        kept=["`head -n 20`"],
    )
    assert (scores, findings) == ({}, [])


def test_a_text_without_numbers_gets_no_score():
    assert found("No numbers.", "Sin números.") == ({}, [])
