"""Real Apertium, English to Spanish: what must not change comes back, and what is translated is clean."""

import random
import re
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leasehold import Permanent
from leasehold.pipelines.translate.documents import read_document
from leasehold.pipelines.translate.translators.apertium.engine import Apertium
from leasehold.pipelines.translate.translators.translator import PLACEHOLDER, PairUnsupported, TranslationRequest
from tests.support.needs import APERTIUM
from tests.support.properties import examples
from tests.tidy.tree import ROOT

CHAPTER = ROOT / "tests" / "pipelines" / "translate" / "chapter" / "chapter.md"
RESERVED = "^$/<>{}@\\[]~#*+"
SETTINGS = settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])


def spanish(apertium, text, **more):
    return apertium.translate(TranslationRequest(text, "en", "es", **more)).text


def sentences():
    """Several hundred English sentences that somebody wrote for another purpose: the project's own documents."""
    text = " ".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md")))
    plain = re.sub(r"\s+", " ", re.sub(r"[⟦⟧]", "", text))
    return [sentence for sentence in re.split(r"(?<=[.!?]) ", plain) if 20 < len(sentence) < 400][:400]


def sprinkled(sentence, dice, *, apart):
    """Put placeholders before, behind and inside the words of a sentence; `apart`, between them too."""
    words, number = [], 0
    for word in sentence.split(" "):
        if dice.random() < 0.2:
            number += 1
            mark = f"⟦{number}⟧"
            glued = [[f"{mark}the {word}"], [f"{word} it{mark}"], [f"{word} re{mark}read"]]
            words += dice.choice([*glued, [mark, word]] if apart else glued)
        else:
            words.append(word)
    return " ".join(words)


@pytest.mark.soak
def test_long_runs_have_an_apertium_to_ask():
    assert APERTIUM.is_there, APERTIUM.reason


def test_a_sentence_is_translated_by_the_pair_that_is_installed(apertium):
    made = apertium.translate(TranslationRequest("The house is red.", "en-GB", "es"))
    assert (made.text, made.translator) == ("La casa es roja.", "apertium eng-spa")
    assert (made.tokens_in, made.tokens_out) == (None, None)
    assert apertium.translate(TranslationRequest("La casa es roja.", "spa", "eng")).text == "The house is red."


@pytest.mark.parametrize("count", [80, pytest.param(400, marks=pytest.mark.soak)])
def test_every_mark_of_hundreds_of_sentences_comes_back_once(apertium, count):
    dice, marks = random.Random(6), 0
    for sentence in sentences()[:count]:
        text = sprinkled(sentence, dice, apart=True)
        for attempt in (1, 2):
            made = spanish(apertium, text, attempt=attempt)
            assert sorted(PLACEHOLDER.findall(made)) == sorted(PLACEHOLDER.findall(text)), (text, made)
        marks += len(PLACEHOLDER.findall(text))
    assert marks > 3 * count // 2


@pytest.mark.parametrize("count", [100, pytest.param(400, marks=pytest.mark.soak)])
def test_placeholders_at_words_keep_their_order_so_that_what_closes_stays_behind_what_opens(apertium, count):
    dice = random.Random(7)
    for sentence in sentences()[:count]:
        text = sprinkled(sentence, dice, apart=False)
        made = spanish(apertium, text)
        assert PLACEHOLDER.findall(made) == PLACEHOLDER.findall(text), (text, made)
    assert PLACEHOLDER.findall(spanish(apertium, "⟦1⟧Tom⟦2⟧'s ⟦3⟧red⟦4⟧ house")) == ["⟦1⟧", "⟦2⟧", "⟦3⟧", "⟦4⟧"]


def test_placeholders_stay_next_to_the_words_they_were_at(apertium):
    assert spanish(apertium, "See ⟦1⟧the red book⟦2⟧ for more.") == "Ver ⟦1⟧el libro rojo⟦2⟧ para más."
    assert spanish(apertium, "The value of ⟦1⟧ must be a number.") == "El valor de ⟦1⟧ tiene que ser un número."
    assert spanish(apertium, "⟦1⟧He wrote⟦2⟧ nothing.") == "⟦1⟧Escribió⟦2⟧ nada."


def test_characters_that_mean_something_to_apertium_are_only_characters(apertium):
    text = "Pay $5 {now} to a@b ~ ^here^ or <there> [sic] c:\\dir *bold* #1 a+b ⟦x⟧ /path/"
    made = spanish(apertium, text)
    found = [letter for letter in made if letter in RESERVED + "⟦⟧"]
    assert found == [letter for letter in text if letter in RESERVED + "⟦⟧"]
    assert spanish(apertium, "^house<n><sg>$ [7] \\[ [] [0]") == "^casa<n><sg>$ [7] \\[ [] [0]"


ODD = st.sampled_from([*RESERVED, " ", "\n", "\t", ". ", "the", " house ", "⟦1⟧", "’", "[0]", ".[]", "\x1a", "\xad"])
ANY = st.characters(exclude_categories=["Cs"], exclude_characters="\0")


@SETTINGS
@given(text=st.lists(st.one_of(ODD, ANY), max_size=40).map("".join))
def test_whatever_a_text_holds_it_is_answered_with_its_placeholders_and_its_lines(apertium, text):
    for attempt in (1, 2):
        made = spanish(apertium, text, attempt=attempt)
        assert sorted(PLACEHOLDER.findall(made)) == sorted(PLACEHOLDER.findall(text))
        assert [letter for letter in made if letter in RESERVED] == [letter for letter in text if letter in RESERVED]
        assert made.count("\n") == text.count("\n")


def test_unknown_words_bear_no_asterisk_and_dropped_ones_leave_no_space(apertium):
    assert spanish(apertium, "He saw the Zorblax, and it is red.") == "Vio el Zorblax, y es rojo."
    assert spanish(apertium, "⟦1⟧ is a red house") == "⟦1⟧ es una casa roja"
    assert spanish(apertium, "She laughed  twice.\tThen\n  she  left. ").endswith(". ")


def test_lines_and_blank_lines_are_where_they_were(apertium):
    made = spanish(apertium, "The cat sleeps.\nThe dog runs.\n\nThe red\nhouse\n")
    assert re.findall(r"\n+", made) == ["\n", "\n\n", "\n", "\n"]
    assert spanish(apertium, "\n \n") == "\n \n"
    assert spanish(apertium, "") == ""


def test_a_rework_uses_the_glossary_and_opens_what_spanish_opens(apertium):
    text = "Where is the house? The House is red! ⟦1⟧"
    first = spanish(apertium, text, glossary={"house": "vivienda"})
    again = spanish(apertium, text, glossary={"house": "vivienda"}, attempt=2)
    assert "casa" in first
    assert "vivienda" in again
    assert "Vivienda" in again
    assert again.startswith("¿")
    assert "¡" in again
    assert "¿" not in first


def test_a_pair_that_is_not_there_is_refused_with_those_that_are(apertium):
    with pytest.raises(PairUnsupported) as refused:
        apertium.check("en", "de")
    assert refused.value.code == "PAIR_UNSUPPORTED"
    for part in ("en→de", "en→es", "es→en", "apt install apertium"):
        assert part in str(refused.value)
    with pytest.raises(PairUnsupported):
        apertium.translate(TranslationRequest("x", "en", "../../etc"))
    apertium.check("en", "es-MX")


@pytest.mark.parametrize(("text", "error_class"), [("a\0b", "TEXT_INVALID"), ("\ud800", "TEXT_INVALID")])
def test_text_that_no_program_could_read_is_refused(apertium, text, error_class):
    with pytest.raises(Permanent) as refused:
        spanish(apertium, text)
    assert refused.value.error_class == error_class


def test_a_long_text_passes_while_it_is_still_being_written(apertium):
    """Larger than every pipe between the programs: who writes all before reading would wait for ever."""
    made = spanish(apertium, "The house is red. " * 4_000)
    assert made.count("casa") == 4_000
    with pytest.raises(Permanent) as refused:
        spanish(apertium, "x" * 200_001)
    assert refused.value.error_class == "TEXT_TOO_LONG"


@pytest.mark.parametrize("count", [50, pytest.param(120, marks=pytest.mark.soak)])
def test_a_text_comes_out_the_same_whatever_was_translated_before(apertium, count):
    """A tagger that stays running learns from each text: then what a crash has interrupted ends with other words."""
    texts = [part.source for part in read_document(CHAPTER).paragraphs if "*" not in part.source][:count]
    forward = [apertium.translate(TranslationRequest(text, "en", "es")).text for text in texts]
    with closing(Apertium()) as another:
        backward = [another.translate(TranslationRequest(text, "en", "es")).text for text in reversed(texts)]
    assert backward[::-1] == forward
