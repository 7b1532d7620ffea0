"""A candidate with other markup than its paragraph's is not accepted."""

import pytest

from leasehold.pipelines.translate.reviewers.checks.kept import review_markup

POEM = "You are old,\\\nFather William,\\\nthe young man cried."


@pytest.mark.parametrize(
    ("source", "candidate"),
    [
        ("A *red* house.", "Una casa *roja*."),
        ("A *red*, **big** house.", "Una casa **grande**, *roja*."),
        (POEM, "Eres viejo,\\\nPadre William,\\\ngritó el joven."),
        ("Plain.", "Sencillo."),
    ],
)
def test_the_same_markup_around_other_words_is_nothing_to_object_to(source, candidate):
    assert review_markup(source, candidate, "markdown").findings == ()


@pytest.mark.parametrize(
    ("source", "candidate", "ending"),
    [
        ("A *red* house.", "Una casa ** roja.", "-1 em."),
        ("A red house.", "Una *casa* roja.", "+1 em."),
        ("Run `ls -l` now.", "Corre ls -l ahora.", "-1 code_inline."),
        ("See [it](https://example.org).", "Véalo (https://example.org).", "-1 link."),
        (POEM, "Eres viejo,\\\n\\\nPadre William, gritó el joven.", "-1 hardbreak."),
    ],
)
def test_markup_that_is_lost_or_new_is_critical(source, candidate, ending):
    """Two hard breaks side by side are one when the document is written: an empty line would end the paragraph."""
    (finding,) = review_markup(source, candidate, "markdown").findings
    assert (finding.code, finding.severity) == ("markup_changed", "critical")
    assert finding.message.endswith(ending)


def test_other_formats_have_no_markup_of_this_kind():
    assert review_markup("A *red* house.", "Una casa roja.", "text").findings == ()
