"""Words that stand twice, and phrases that go round."""

from leasehold.pipelines.translate.reviewers.checks.words import check_repeats
from tests.pipelines.translate.reviewers.subjects import reviewed


def found(source, candidate, **options):
    return reviewed(check_repeats, source, candidate, **options)[1]


def test_a_word_twice_is_pointed_at_in_any_case_and_form():
    review, findings = reviewed(check_repeats, "He drank the coffee.", "Él bebió el  El cafe\u0301 caf\u00e9 🙂.")
    assert findings == [("word_repeated", "el  El"), ("word_repeated", "cafe\u0301 caf\u00e9")]
    assert review.scores["fluency"] < 0.5


def test_what_the_source_repeats_may_be_repeated():
    assert found("It was very, very, very very late with Duran Duran.", "Era muy muy tarde con Duran Duran.") == []


def test_words_that_a_grammar_doubles_are_no_repeats():
    assert found("We see each other.", "Nous nous voyons.", pair="en-fr") == []
    assert found("We see each other.", "Nos nos vemos.") == [("word_repeated", "Nos nos")]


def test_words_divided_by_a_mark_are_no_repeats():
    assert found("“Oh!” cried she.", "—¡Ay, ay! —gritó—. Gritó: no. No.") == []


def test_a_phrase_that_goes_round_is_pointed_at_once():
    review, findings = reviewed(check_repeats, "It was late.", "Era tarde, muy tarde y luego y luego y luego fin.")
    assert findings == [("phrase_repeated", "y luego y luego y luego")]
    assert review.findings[0].severity == "major"
    assert review.scores == {"fluency": 0.4545}


def test_a_song_that_goes_round_may_go_round():
    assert found("row the boat row the boat row the boat", "rema el bote rema el bote rema el bote") == []


def test_a_blank_candidate_is_not_judged_and_a_single_word_is():
    assert reviewed(check_repeats, "Yes.", " ")[0].scores == {}
    assert reviewed(check_repeats, "Yes.", "Sí.")[0].scores == {"fluency": 1.0}
