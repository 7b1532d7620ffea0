"""How a text is read: words with their combining signs, sentences, protected pieces where they stand."""

import pytest

from leasehold.pipelines.translate.reviewers.text import (
    blanked,
    find_pieces,
    flagged_words,
    language_of,
    sentences_of,
    without_pieces,
    words_of,
)
from tests.pipelines.translate.reviewers.subjects import subject


def test_a_combining_sign_belongs_to_its_word_and_to_its_key():
    text = "🙂 Cafe\u0301 CAFÉ B12 _x_ שָׁלוֹם"
    assert [text[word.start : word.end] for word in words_of(text)] == ["Cafe\u0301", "CAFÉ", "B12", "x", "שָׁלוֹם"]
    assert words_of(text)[0].key == words_of(text)[1].key == "café"


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", " Two!", " Three?"]),
        ("Mr. Nemo came. “He left.” So", ["Mr. Nemo came.", " “He left.”", " So"]),
        ("3.5 of example.org… and", ["3.5 of example.org…", " and"]),
        ("a title\n\na text", ["a title\n\n", "a text"]),
        ("你好。 再见", ["你好。", " 再见"]),
        ("  ", []),
        ("", []),
    ],
)
def test_a_text_is_divided_where_sentences_end(text, sentences):
    assert [text[span.start : span.end] for span in sentences_of(text)] == sentences


def test_pieces_are_taken_longest_first_and_never_share_a_sign():
    spans, missing = find_pieces("**a** *b", ["*", "*", "**", "**"])
    assert [tuple(span) for span in spans] == [(0, 2), (3, 5), (6, 7)]
    assert missing == ["*"]


def test_a_piece_that_overlaps_itself_is_found_without_overlap():
    spans, missing = find_pieces("aaaaa", ["aa", "aa", "aa"])
    assert [tuple(span) for span in spans] == [(0, 2), (2, 4)]
    assert missing == ["aa"]


def test_blanks_keep_every_other_sign_where_it_was():
    text = "🙂 see `code 1` at https://example.org/2. Bye {name}"
    blank = without_pieces(text, ("`code 1`", "*"))
    assert len(blank) == len(text)
    assert blank.split() == ["🙂", "see", "at", ".", "Bye"]
    assert blank.index("Bye") == text.index("Bye")
    assert blanked("abc", []) == "abc"


def test_a_star_is_a_flag_only_where_the_source_has_the_word_without_it():
    asked = subject("the *very* watery part, #tag", "el *muy* *watery parte #tag #vaso", pair="en-es")
    assert [asked.candidate[start:end] for start, end in flagged_words(asked.source, asked.candidate)] == [
        "*watery",
        "#vaso",
    ]


def test_language_tags_are_reduced_to_their_language():
    assert [language_of(tag) for tag in ("en-US", "zh_Hans", "spa", " DE ", "")] == ["en", "zh", "es", "de", ""]
