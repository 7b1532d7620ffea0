"""Terms of the glossary are translated as it prescribes."""

from leasehold.pipelines.translate.reviewers.checks.words import check_terms
from tests.pipelines.translate.reviewers.subjects import reviewed

GLOSSARY = {"lease": "arriendo", "dead letter": "carta muerta", "straße": "calle", "worker": "obrero"}


def found(source, candidate, **options):
    review, findings = reviewed(check_terms, source, candidate, glossary=GLOSSARY, **options)
    return dict(review.scores), findings


def test_a_term_may_be_inflected_and_in_any_case():
    assert found("A Lease ends.", "Los Arriendos terminan.") == ({"terminology": 1.0}, [])
    assert found("The dead letter", "Las cartas muertas") == ({"terminology": 1.0}, [])
    assert found("Die STRASSE ist lang.", "La calle es larga.", pair="de-es") == ({"terminology": 1.0}, [])


def test_a_missing_term_is_named_with_its_translation():
    review, findings = reviewed(check_terms, "A lease ends.", "Un alquiler acaba.", glossary=GLOSSARY)
    assert findings == [("term_missing", None)]
    assert "“lease” as “arriendo”" in review.findings[0].message
    assert review.scores == {"terminology": 0.0}


def test_a_term_left_as_it_was_is_pointed_at():
    scores, findings = found("📜 A lease and a dead letter.", "📜📜 Un lease y una carta muerta.")
    assert findings == [("term_untranslated", "lease")]
    assert scores == {"terminology": 0.5}


def test_a_term_wanted_twice_must_stand_twice():
    assert found("lease after lease", "arriendo tras otro")[0] == {"terminology": 0.5}


def test_words_that_only_begin_like_a_term_do_not_ask_for_it():
    assert found("A leasehold.", "Una propiedad.") == ({}, [])
    assert found("A lease.", "Un arriendamiento.")[1] == [("term_missing", None)]


def test_a_term_inside_protected_code_is_not_asked_for():
    assert found("Run `lease`.", "Haz `lease`.", kept=["`lease`"]) == ({}, [])


def test_a_glossary_of_thousands_is_looked_up_not_searched():
    many = {f"term{number}": f"voz{number}" for number in range(20_000)} | {"  ": "x", "": "y"}
    text = " ".join(f"term{number}" for number in range(0, 20_000, 2))
    review, _ = reviewed(check_terms, text, text.replace("term", "voz"), glossary=many)
    assert review.scores == {"terminology": 1.0}
