"""Words, passages and sentences of the source that are still there; names are not held against anybody."""

from leasehold.pipelines.translate.reviewers.checks.words import check_untranslated
from tests.pipelines.translate.reviewers.subjects import reviewed


def test_flagged_words_are_found_and_names_are_only_reported():
    """As Apertium really translated it."""
    source = "“Cheshire Puss,” she began, rather timidly, as it only grinned a little wider 🐈 in the watery part."
    candidate = (
        "“*Cheshire *Puss,” empezó, bastante *timidly, tan él sólo *grinned un poco más ancho 🐈 en el *watery parte."
    )
    review, findings = reviewed(check_untranslated, source, candidate)
    assert findings == [
        ("unknown_name", "*Cheshire"),
        ("unknown_name", "*Puss"),
        ("unknown_word", "*timidly"),
        ("unknown_word", "*grinned"),
        ("unknown_word", "*watery"),
    ]
    assert [finding.severity for finding in review.findings] == ["info"] * 2 + ["minor"] * 3
    assert review.scores["adequacy"] == round(1 - 3 / 17, 4)


def test_a_text_of_names_is_full_adequacy():
    source = "Then Captain Nemo of the Nautilus met Ned Land, Conseil and Pierre Aronnax."
    candidate = "Entonces el capitán Nemo del Nautilus encontró a Ned Land, Conseil y Pierre Aronnax."
    review, findings = reviewed(check_untranslated, source, candidate)
    assert (review.scores, findings) == ({"adequacy": 1.0}, [])


def test_emphasis_is_no_mark_of_an_unknown_word():
    review, findings = reviewed(check_untranslated, "a *very* nice *hotel*", "un *hotel* *muy* bonito")
    assert findings == [("word_copied", "hotel")]
    assert review.scores["adequacy"] == 0.8


def test_copied_words_without_a_mark_are_noted():
    source = "She was rather timidly asking for the downright inexplicable cauldron."
    candidate = "Ella rather pedía timidly el cauldron downright inexplicable."
    review, findings = reviewed(check_untranslated, source, candidate)
    assert [text for code, text in findings if code == "word_copied"] == [
        "rather",
        "timidly",
        "cauldron",
        "downright",
        "inexplicable",
    ]
    assert review.scores["adequacy"] < 0.5


def test_a_sentence_copied_whole_is_critical_and_pointed_at():
    source = "It was late. The cat sat on the mat. All slept."
    candidate = "🌙 Era tarde. The cat sat on the mat. Todos dormían."
    review, findings = reviewed(check_untranslated, source, candidate)
    assert ("sentence_copied", "The cat sat on the mat.") in findings
    assert ("passage_copied", "The cat sat on the mat") in findings
    assert review.findings[0].severity == "critical"


def test_a_sentence_in_capitals_is_no_name():
    _, findings = reviewed(check_untranslated, "THE CAT SAT DOWN.", "THE CAT SAT DOWN.")
    assert ("sentence_copied", "THE CAT SAT DOWN.") in findings


def test_a_sentence_of_names_may_be_the_same():
    name = "Wolfgang Amadeus Mozart, Ludwig van Beethoven, Johannes Brahms."
    assert reviewed(check_untranslated, name, name)[0].scores == {"adequacy": 1.0}


def test_related_languages_may_share_many_words():
    source, candidate = "La casa grande es bonita y nueva.", "A casa grande é bonita e nova."
    review, findings = reviewed(check_untranslated, source, candidate, pair="es-pt")
    assert review.scores == {"adequacy": 1.0}
    assert {finding.severity for finding in review.findings} == {"info"}
    assert [text for _, text in findings] == ["casa", "grande", "bonita"]


def test_between_regions_of_one_language_nothing_is_judged():
    assert reviewed(check_untranslated, "The colour.", "The color.", pair="en_GB-en-US")[0].scores == {}
    assert reviewed(check_untranslated, "1 + 1", "1 + 1")[0].scores == {}
