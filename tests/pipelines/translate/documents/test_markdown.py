"""Markdown: what is a paragraph, and that a faithful translation keeps all markup."""

from pathlib import Path

import pytest

from leasehold.pipelines.translate.documents import read_document
from leasehold.pipelines.translate.documents.markdown import read_markdown
from leasehold.pipelines.translate.documents.protecting import protect, restore
from tests.pipelines.translate.documents.structure import blocks_of, inlines_of

CHAPTER = Path(__file__).parents[1] / "chapter" / "chapter.md"


def sources(text):
    return [paragraph.source for paragraph in read_markdown("x.md", text).paragraphs]


def swapped(text):
    """A translation that changes every letter outside of the marks."""
    return text.swapcase().replace("A", "Ä")


def faithfully(document):
    texts = {}
    for paragraph in document.paragraphs:
        marked = protect(paragraph.source, document.format)
        texts[paragraph.index] = restore(swapped(marked.text), marked.kept)
    return texts


def test_the_chapter_has_a_few_hundred_paragraphs_and_rounds_trip():
    document = read_document(CHAPTER)
    assert (document.name, document.format) == ("chapter.md", "markdown")
    assert 300 <= len(document.paragraphs) <= 400
    assert [paragraph.index for paragraph in document.paragraphs] == list(range(1, len(document.paragraphs) + 1))
    assert not any("alice --voice" in paragraph.source for paragraph in document.paragraphs)
    same = {paragraph.index: paragraph.source for paragraph in document.paragraphs}
    assert document.render(same) == document.render({}) == CHAPTER.read_bytes()


def test_a_faithful_translation_of_the_chapter_keeps_blocks_and_markup():
    text = CHAPTER.read_text()
    document = read_document(CHAPTER)
    rendered = document.render(faithfully(document)).decode()
    assert "WÄS BEGINNING" in rendered
    assert blocks_of(rendered) == blocks_of(text)
    assert inlines_of(rendered) == inlines_of(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One #\n\nTwo\n===\n", ["One", "Two"]),
        ("a\nb  \nc\\\nd\n", ["a b  \nc\\\nd"]),
        ("- a\n  b\n  1. c\n> d\n> > e\nf\n", ["a b", "c", "d", "e f"]),
        ("| a | b |\n|---|---|\n| c \\| d | |\n| `e` | f | g |\n", ["a", "b", "c \\| d", "`e`", "f"]),
        ("---\ntitle: x\n---\ntext\n", ["text"]),
        ("```\ncode\n```\n\n    code\n\n<div>\nhtml\n</div>\n\n***\n\n[x]: y\n\ntext\n", ["text"]),
        ("[^1]: word\n[^2]: two\n    lines\n\n    more\n", ["word", "two lines", "more"]),
        ("see [Label] and [it][label] and [Label][] but `[label]`\n\n[label]: x\n",
         ["see [Label][Label] and [it][label] and [Label][Label] but `[label]`"]),
    ],
)  # fmt: skip
def test_paragraphs_are_what_a_reader_reads(text, expected):
    assert sources(text) == expected


def test_the_link_of_a_short_reference_survives_the_translation_of_its_text():
    document = read_markdown("x.md", "see [the label].\n\n[the label]: x\n")
    rendered = document.render({1: "véase [la etiqueta][the label]."})
    assert rendered.decode() == "véase [la etiqueta][the label].\n\n[the label]: x\n"


def test_a_hard_break_is_kept_where_the_block_has_lines_and_flattened_where_not():
    document = read_markdown("x.md", "> a\\\n> b\n\n# c\n")
    assert document.render({1: "x\\\ny", 2: "z\\\nw"}).decode() == "> x\\\n> y\n\n# z\\ w\n"


def test_a_blank_translation_is_none():
    document = read_markdown("x.md", "a\n\nb\n")
    assert document.render({1: " \n", 2: "c"}) == b"a\n\nc\n"
