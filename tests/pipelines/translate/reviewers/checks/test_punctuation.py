"""Punctuation marks that come in pairs have their partners, if they had them in the source."""

import pytest

from leasehold.pipelines.translate.reviewers.checks.form import check_punctuation
from tests.pipelines.translate.reviewers.subjects import reviewed


@pytest.mark.parametrize(
    ("source", "candidate", "alone"),
    [
        ("one (two) three", "🙂 uno (dos tres", "("),
        ("one (two) three", "uno dos) tres", ")"),
        ("“Oh!” cried she.", "“¡Oh! gritó ella.", "“"),
        ('"Oh!" cried she.', '"¡Oh! gritó ella.', '"'),
        ("“Oh!” cried she.", "«¡Oh! gritó ella.", "«"),
        ("a **bold** word", "una palabra **negrita", "**"),
        ("a *soft* word", "una palabra *suave", "*"),
        ("run `make` now", "haz `make ahora", "`"),
    ],
)
def test_a_mark_without_partner_is_pointed_at(source, candidate, alone):
    review, findings = reviewed(check_punctuation, source, candidate)
    assert findings == [("mark_unbalanced", alone)]
    assert review.scores == {"style": 0.5}


@pytest.mark.parametrize(
    ("source", "candidate"),
    [
        ("“Oh!” (cried [she])", "«¡Oh!» (gritó [ella])"),
        ("“Oh!” cried she.", "„Oh!“, rief sie."),
        ("“Oh!” cried she.", "»Oh!«, rief sie."),
        ("“This speech goes on", "“Este discurso sigue"),
        ("a smile :)", "una sonrisa :)"),
        ("the watery part", "el *watery parte"),
        ("don't", "it's 'so"),
    ],
)
def test_pairs_and_what_the_source_left_open_are_fine(source, candidate):
    review, findings = reviewed(check_punctuation, source, candidate)
    assert (review.scores, findings) == ({"style": 1.0}, [])


def test_brackets_inside_protected_pieces_do_not_count():
    assert reviewed(check_punctuation, "Call `f(`.", "Llama `f(`.", kept=["`f(`"])[1] == []


def test_a_blank_candidate_is_not_judged_for_its_punctuation():
    assert reviewed(check_punctuation, "(a)", "")[0].scores == {}
