"""A sentence that denies is translated by one that denies."""

import pytest

from leasehold.pipelines.translate.reviewers.checks.negation import DENYING, check_negation
from tests.pipelines.translate.reviewers.subjects import reviewed


@pytest.mark.parametrize(
    ("source", "candidate", "pair"),
    [
        ("He did not go.", "No fue.", "en-es"),
        ("I don’t know.", "Je ne sais pas.", "en-fr"),
        ("I can't wait.", "Ich kann nicht warten.", "en-de"),
        ("Nobody came.", "Ninguém veio.", "en-pt"),
        ("Nobody came.", "Ningue\u0301m veio.", "en-pt"),
        ("It is never late.", "Non è mai tardi.", "en-it"),
        ("There is nothing.", "No hi ha res.", "en-ca"),
        ("It isn't possible.", "Es imposible.", "en-es"),
        ("He left without a word.", "No dijo palabra y se fue.", "en-es"),
        ("Ce n'est rien.", "It is nothing.", "fr-en"),
        ("There were neither lions nor tigers.", "Es gab weder Löwen noch Tiger.", "en-de"),
        ("Yo no he visto nunca nada.", "I have never seen anything.", "es-en"),
        ("Nobody but Alice came, no doubt, but I did not.", "Solo vino Alicia, claro, pero yo no.", "en-es"),
        ("Wait until he comes.", "Espera mientras no venga.", "en-es"),
    ],
)
def test_a_negation_may_take_the_form_of_its_language(source, candidate, pair):
    review, findings = reviewed(check_negation, source, candidate, pair=pair)
    assert findings == []
    assert review.scores == {"adequacy": 1.0}


@pytest.mark.parametrize(
    ("source", "candidate", "pair"),
    [
        ("He didn't go.", "Fue.", "en-es"),
        ("He didn’t go.", "Il est allé.", "en-fr"),
        ("Er ging nicht.", "He went.", "de-en"),
        ("Ele não foi.", "He went.", "pt-en"),
        ("Non è andato.", "He went.", "it-en"),
        ("No hi va anar.", "Fue.", "ca-es"),
    ],
)
def test_a_lost_negation_is_critical_and_its_sentence_pointed_at(source, candidate, pair):
    review, findings = reviewed(check_negation, source, candidate, pair=pair)
    assert findings == [("negation_lost", candidate.rstrip("."))]
    assert review.findings[0].severity == "critical"
    assert review.scores == {"adequacy": 0.0}


def test_the_sentence_that_lost_its_negation_is_found_among_others():
    source = "🙂 It was late. Mr. Nemo did not come. Nobody cared."
    candidate = "🙂👩‍🚀 Era tarde. El Sr. Nemo vino. A nadie le importó."
    review, findings = reviewed(check_negation, source, candidate)
    assert findings == [("negation_lost", "El Sr. Nemo vino")]
    assert review.scores == {"adequacy": 0.5}


def test_one_of_two_negations_lost_is_found():
    source = "He never wrote that the ship wasn’t lost."
    assert reviewed(check_negation, source, "Nunca escribió que el barco no se hubiera perdido.")[1] == []
    review, findings = reviewed(check_negation, source, "Nunca escribió que el barco se hubiera perdido.")
    assert findings == [("negation_lost", "Nunca escribió que el barco se hubiera perdido")]
    assert review.scores == {"adequacy": 0.5}


def test_a_without_that_the_source_has_too_excuses_nothing():
    _, findings = reviewed(check_negation, "He did not go without her.", "Fue sin ella.")
    assert findings == [("negation_lost", "Fue sin ella")]


def test_a_negation_that_the_source_does_not_have_is_found():
    _, findings = reviewed(check_negation, "😀 The ship was lost.", "😀 El barco no se perdió.")
    assert findings == [("negation_added", "no")]


def test_what_apertium_really_lost_is_found():
    source = (
        "Alice did not at all like the tone of this remark, and thought it would be as well to introduce some other."
    )
    candidate = (
        "Alice hizo en absoluto como el tono de este comentario, y lo pensó sería también para presentar algunos."
    )
    assert reviewed(check_negation, source, candidate)[1] == [("negation_lost", candidate.rstrip("."))]


def test_a_contraction_is_quoted_and_pointed_at_as_it_stands():
    lost, _ = reviewed(check_negation, "He didn’t go.", "Fue.")
    assert "(“n’t”)" in lost.findings[0].message
    assert reviewed(check_negation, "Fue.", "He didn't go.", pair="es-en")[1] == [("negation_added", "n't")]


def test_a_language_that_is_not_known_gets_neither_score_nor_finding():
    review, findings = reviewed(check_negation, "He did not go.", "Han gick.", pair="en-sv")
    assert (review.scores, findings) == ({}, [])
    assert set(DENYING) == {"en", "es", "fr", "de", "pt", "it", "ca"}


def test_sentences_without_any_negation_get_no_score():
    assert reviewed(check_negation, "He went.", "Fue.")[0].scores == {}
