"""What must not change stands in the candidate unchanged, as often as in the source."""

from leasehold.pipelines.translate.reviewers.checks.kept import check_kept
from tests.pipelines.translate.reviewers.subjects import reviewed


def found(source, candidate, **options):
    return reviewed(check_kept, source, candidate, **options)[1]


def test_pieces_may_move_but_not_change():
    source, kept = "Run `make test` on **{name}** now.", ["`make test`", "**", "**", "{name}"]
    assert found(source, "Ahora en **{name}** haz `make test`.", kept=kept) == []
    assert found(source, "Ahora en **{nombre}** haz `make test`.", kept=kept) == [("kept_lost", None)]


def test_a_lost_piece_is_critical_and_named_and_has_no_score():
    review, _ = reviewed(check_kept, "See `x`.", "Véase x.", kept=["`x`"])
    assert [(finding.severity, "“`x`”" in finding.message) for finding in review.findings] == [("critical", True)]
    assert review.scores == {}


def test_a_piece_listed_twice_must_stand_twice():
    assert found("%s of %s", "%s de", kept=["%s", "%s"]) == [("kept_lost", None)]


def test_two_stars_are_not_taken_for_two_single_ones():
    assert found("**a** and *b*", "**a** y b", kept=["**", "**", "*", "*"]) == [("kept_lost", None)] * 2


def test_a_mark_of_an_unknown_word_does_not_stand_for_emphasis():
    assert found("the *watery* part", "el *watery parte", kept=["*", "*"]) == [("kept_lost", None)]


def test_addresses_and_placeholders_need_no_listing():
    source = "Dear {{name}}, see https://example.org/A_b?c=1. You are %(n)s of %d in ${HOME}."
    assert found(source, "{{name}}: %(n)s de %d en ${HOME}, https://example.org/A_b?c=1.") == []
    assert found(source, "{{name}}: %(n)s de %d en ${CASA}, https://example.org/A_b?c=1.") == [("kept_lost", None)]


def test_a_damaged_address_is_pointed_at_behind_combining_signs():
    candidate = "Cafe\u0301 👩‍🚀: https://example.org/william."
    expected = [("kept_lost", None), ("address_added", "https://example.org/william")]
    assert found("Coffee: https://example.org/William.", candidate) == expected


def test_a_translated_address_of_apertium_is_found():
    """As Apertium really did it to a link."""
    source = "come over with [William the Conqueror](https://en.wikipedia.org/wiki/William_the_Conqueror)."
    candidate = "venido encima con [William el *Conqueror](https://en.wikipedia.org/wiki/william_the_conqueror)."
    assert ("address_added", "https://en.wikipedia.org/wiki/william_the_conqueror") in found(source, candidate)
