"""The candidate translated back is compared with the source."""

from functools import partial

import pytest

from leasehold.pipelines.translate.reviewers.checks.language import check_back
from leasehold.pipelines.translate.reviewers.standard import standard_reviewers
from tests.pipelines.translate.reviewers.subjects import reviewed, subject

SOURCE = "You can’t miss it: it’s not far, and there are neither lions nor tigers."
CANDIDATE = "No lo puedes perder: no es lejos, y hay tampoco leones ni tigres."
# As Apertium really did; `sacrebleu -m chrf` gives it 62.1.
BACK = "You can not it lose: it is not far, and there is neither lions neither tigers."


def test_the_score_is_chrf_of_what_comes_back():
    assert reviewed(partial(check_back, lambda _: SOURCE), SOURCE, CANDIDATE)[0].scores == {"adequacy": 1.0}
    assert reviewed(partial(check_back, lambda _: BACK), SOURCE, CANDIDATE)[0].scores == {"adequacy": 0.6206}


def test_nothing_coming_back_is_a_note_and_no_adequacy():
    review, findings = reviewed(partial(check_back, lambda _: "Zzz!"), SOURCE, CANDIDATE)
    assert findings == [("back_translation_far", None)]
    assert review.scores == {"adequacy": 0.0}


def test_flags_of_unknown_words_are_not_translated_back():
    texts: list[str] = []

    def back(text):
        texts.append(text)
        return "x"

    check_back(back, subject("a watery part", "una *watery parte"))
    assert texts == ["una  watery parte"]


def test_texts_without_words_are_not_translated_back():
    assert reviewed(partial(check_back, lambda _: pytest.fail("asked")), "* * *", "* * *")[0].scores == {}


def test_what_the_translator_raises_goes_to_the_caller():
    with pytest.raises(ZeroDivisionError):
        check_back(lambda _: str(1 // 0), subject("one", "uno"))


def test_the_standard_reviewers_translate_back_only_if_somebody_can():
    assert [each.name for each in standard_reviewers()] == [
        "kept", "numbers", "dates", "negation", "length", "untranslated", "language", "repeats", "punctuation", "terms",
    ]  # fmt: skip
    assert [each.name for each in standard_reviewers(lambda text: text)][-1] == "back"
