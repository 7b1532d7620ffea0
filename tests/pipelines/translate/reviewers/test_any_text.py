"""Whatever the texts are: scores lie in [0, 1], spans in the candidate, and the same subject gives the same review."""

import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leasehold.pipelines.translate.reviewers import text
from leasehold.pipelines.translate.reviewers.plugins import faults_of
from leasehold.pipelines.translate.reviewers.review import Subject
from leasehold.pipelines.translate.reviewers.standard import standard_reviewers
from tests.support.properties import examples

REVIEWERS = standard_reviewers(lambda text: text[::-1])
LANGUAGES = st.sampled_from(
    ["en", "es", "fr", "de", "pt", "it", "ca", "ar", "zh-Hans", "en-US", "es_MX", "x", "", "spa"]
)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
# Pieces that reviewers look at, in any order: nearer to their edges than characters alone.
PIECES = st.sampled_from(
    [
        "not ", "no ", "n't ", "don’t ", "12 March 1867 ", "1,500.75", "1.2.3.4", "3/4/1867 ", "XIX ", "tres ",
        "*unknown ", "**", "`x`", "{name}", "%s", "https://example.org/a_(b)", "(", ")", "“", "”", "«", "Mr. ",
        "...", "?! ", "\n\n", "🐳", "👩‍🚀", "e\u0301 ", "\u202e", "שלום ", "مرحبا ٣ ", "你好。", "\x00", "\ufeff",
        "ß", "İ", "ﬁ", "lease ", "arriendo ", "the the ", "Nemo ", "\u200d", "٪",
    ]
)  # fmt: skip
MIXED = st.lists(PIECES, max_size=30).map("".join)
TEXTS = ANY_TEXT | MIXED
SUBJECTS = st.builds(
    Subject,
    TEXTS,
    TEXTS,
    LANGUAGES,
    LANGUAGES,
    st.lists(PIECES | TEXTS, max_size=5).map(tuple),
    st.dictionaries(TEXTS | st.just("lease"), TEXTS, max_size=3),
)
NASTY = {
    "one word": "a ",
    "digits": "1",
    "grouped digits": "1,",
    "spaced digits": "1 000 ",
    "stops": ".",
    "stops and quotes": '."',
    "spaced stops": "a. ",
    "opening brackets": "(",
    "brackets": "()",
    "stars": "*",
    "spaced stars": "* ",
    "marked words": "*a ",
    "braces": "{",
    "half placeholders": "{a",
    "percents": "%(",
    "addresses": "http://",
    "long address": "http://a/" + "?" * 50,
    "dates": "1 May 1867 ",
    "numeric dates": "1/1/1867 ",
    "slashes": "1/",
    "blank lines": "\n \n",
    "spaces": " ",
    "Roman": "MDCLXVI",
    "apostrophes": "n't",
    "combining": "\u0301",
    "joined": "👩\u200d",
    "right to left": "\u202eא",
    "nothing": "\x00",
    "wide": "你",
}


def forget():
    """Have every text read again."""
    for known in vars(text).values():
        if hasattr(known, "cache_clear"):
            known.cache_clear()


def check_reviews(subject):
    for reviewer in REVIEWERS:
        forget()
        review = reviewer.review(subject)
        assert faults_of(review, subject, reviewer.name) == []
        assert review == reviewer.review(subject), "a review of the same subject differs"
        forget()
        assert review == reviewer.review(subject)


@settings(max_examples=examples(300))
@given(SUBJECTS)
@example(Subject("", "", "en", "es", (), {}))
@example(Subject("", "", "", "", ("",), {"": ""}))
@example(Subject("a", "", "en", "es", ("a", "a"), {"a": "b"}))
def test_scores_and_spans_are_valid_and_repeatable_on_any_text(subject):
    check_reviews(subject)


@given(TEXTS, LANGUAGES, LANGUAGES)
def test_a_text_that_is_its_own_translation_is_reviewed_too(text, source_language, target_language):
    check_reviews(Subject(text, text, source_language, target_language, (text[:7], text[-3:]), {text: text}))


@pytest.mark.parametrize("length", [20_000, pytest.param(100_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("piece", NASTY.values(), ids=NASTY.keys())
def test_a_long_text_of_anything_comes_to_an_end(piece, length):
    """A pattern that gives back what it took would need hours for some of these."""
    text = (piece * (length // len(piece) + 1))[:length]
    subject = Subject(text, text[:-1] + "x", "en", "es", (piece,), {piece: piece})
    for reviewer in REVIEWERS:
        assert faults_of(reviewer.review(subject), subject, reviewer.name) == []


def test_reviews_do_not_depend_on_the_hash_seed_or_the_locale():
    """S8, for what reviewers return."""
    program = (
        "from leasehold.pipelines.translate.reviewers.review import *\n"
        "from leasehold.pipelines.translate.reviewers.standard import *\n"
        "from leasehold.pipelines.translate.gate import *\n"
        "subject = Subject('On 3/4/1867, 1,500 men did not sing: *go* to {a} and {b} {c}.',"
        " 'El 5/6/1868 1.600 hombres *go.',"
        " 'en', 'es', ('{a}', '{b}', '{c}', '*', '*'), {'men': 'varones', 'go': 'ir', 'sing': 'cantar'})\n"
        "reviews = [each.review(subject) for each in standard_reviewers(lambda text: text)]\n"
        "print(ascii((reviews, assess(reviews, Thresholds(), attempt=1, attempts_max=4))))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "LC_ALL": locale},
            capture_output=True,
            check=True,
        ).stdout
        for seed, locale in [("0", "C"), ("1", "C.UTF-8"), ("2", "de_DE.UTF-8"), ("3", "tr_TR.UTF-8")]
    }
    assert len(outputs) == 1
    assert b"number_lost" in outputs.pop()
