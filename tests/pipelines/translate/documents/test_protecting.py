"""What must not change is set aside as placeholders, and comes back."""

import time
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.pipelines.translate.documents.protecting import protect, respace, restore
from tests.support.properties import examples

SECONDS_MAX = 10
FORMATS = ["markdown", "text", "docx", "po"]
PIECES = [
    "⟦", "⟧", "⟦1⟧", "⟦ 2 ⟧", "1", " ", "\n", "  \n", "\\\n", "`", "``", "*", "**", "_", "~~", "[", "]", "](x)", "][y]",
    "![", "<b>", "</b>", "<1>", "</1>", "<2/>", "<!--", "-->", "{x}", "{{y}}", "${Z}", "$A_B", "$x^2$", "%s", "%(n)d",
    "&amp;", "\\", "https://a.b/c?d=e", "me@example.org", "[^1]", "(", ")", '"', "word", "\t", "%%",
]  # fmt: skip


@settings(max_examples=examples(400))
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(), st.sampled_from(FORMATS))
def test_what_was_protected_is_restored_exactly(source, kind):
    marked = protect(source, kind)
    assert restore(marked.text, marked.kept) == source
    assert respace(marked.text, marked) == marked.text


@pytest.mark.parametrize(
    ("kind", "source", "text", "kept"),
    [
        ("markdown", "a **b** _c_ ~~d~~", "a ⟦1⟧b⟦2⟧ ⟦3⟧c⟦4⟧ ⟦5⟧d⟦6⟧", ("**", "**", "_", "_", "~~", "~~")),
        ("markdown", "2 * 3 in snake_case_name", "2 * 3 in snake_case_name", ()),
        ("markdown", "see [it](u/(v) 'the title')!", "see ⟦1⟧it⟦2⟧!", ("[", "](u/(v) 'the title')")),
        ("markdown", "![alt](<a b>) [t][r]", "⟦1⟧alt⟦2⟧ ⟦3⟧t⟦4⟧", ("![", "](<a b>)", "[", "][r]")),
        ("markdown", "`a *b*` ``c ` d``", "⟦1⟧ ⟦2⟧", ("`a *b*`", "``c ` d``")),
        ("markdown", "one  \ntwo\\\nthree", "one⟦1⟧two⟦2⟧three", ("  \n", "\\\n")),
        ("markdown", r"\*no\* &nbsp; &#x2014;", "⟦1⟧no⟦2⟧ ⟦3⟧ ⟦4⟧", (r"\*", r"\*", "&nbsp;", "&#x2014;")),
        ("markdown", "x[^1] <br/> <a b='c d'>z</a>", "x⟦1⟧ ⟦2⟧ ⟦3⟧z⟦4⟧", ("[^1]", "<br/>", "<a b='c d'>", "</a>")),
        ("markdown", "<kbd>Go on</kbd> <b>it</b>", "⟦1⟧ ⟦2⟧it⟦3⟧", ("<kbd>Go on</kbd>", "<b>", "</b>")),
        ("markdown", "<https://a.b/c> at a@b.org", "⟦1⟧ at ⟦2⟧", ("<https://a.b/c>", "a@b.org")),
        ("markdown", "[x] done, $E = mc^2$, but $5 and $6", "⟦1⟧ done, ⟦2⟧, but $5 and $6", ("[x]", "$E = mc^2$")),
        ("text", "{a}, {{b}} of %d, ${C}, $DE", "⟦1⟧, ⟦2⟧ of ⟦3⟧, ⟦4⟧, ⟦5⟧", ("{a}", "{{b}}", "%d", "${C}", "$DE")),
        ("text", "(see https://a.b/c.)", "(see ⟦1⟧.)", ("https://a.b/c",)),
        ("text", "100 % sure, 5% off, **not** markup", "100 % sure, 5% off, **not** markup", ()),
        ("docx", "a <1>b</1>\t<2/>", "a ⟦1⟧b⟦2⟧⟦3⟧⟦4⟧", ("<1>", "</1>", "\t", "<2/>")),
        ("po", "%(n)s of %1$s\n<b>&lt;</b>", "⟦1⟧ of ⟦2⟧⟦3⟧⟦4⟧⟦5⟧⟦6⟧", ("%(n)s", "%1$s", "\n", "<b>", "&lt;", "</b>")),
        ("text", "⟦7⟧ stands here", "⟦1⟧7⟦2⟧ stands here", ("⟦", "⟧")),
    ],
)  # fmt: skip
def test_markup_and_variables_become_placeholders(kind, source, text, kept):
    assert (protect(source, kind).text, protect(source, kind).kept) == (text, kept)


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("a **b** c", "x ⟦1⟧ y ⟦2⟧ z", "x **y** z"),
        ("a **b** c", "x⟦1⟧ y ⟦2⟧z", "x **y** z"),
        ('sing "*b*," then', 'canta "⟦1⟧ y ⟦2⟧," luego', 'canta "*y*," luego'),
        ("see [it](u).", "ve ⟦1⟧ eso ⟦2⟧.", "ve [eso](u)."),
        ("run `x`: now", "corre ⟦1⟧ : ya", "corre `x` : ya"),
        ("a **b** c", "sin marcas", "sin marcas"),
    ],
)
def test_spaces_inside_of_emphasis_and_links_move_outside(source, translation, expected):
    marked = protect(source, "markdown")
    assert restore(respace(translation, marked), marked.kept) == expected


def test_a_mark_with_spaces_inside_is_still_a_mark():
    assert restore("⟦ 2 ⟧ y ⟦1 ⟧", ("a", "b")) == "b y a"


def test_a_mark_that_was_never_given_stays_visible():
    assert restore("x ⟦3⟧ y ⟦0⟧ ⟦1⟧", ("a",)) == "x ⟦3⟧ y ⟦0⟧ a"


REPEATED = [
    "<!--", "`" * 31 + " ", "[", "](", "<a ", "$x^", "{", "%(", "a@", "&#", "**", "http://", '](x "', "](\\", "<a@",
]  # fmt: skip


@pytest.mark.parametrize("length", [40_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_the_longest_paragraph_is_searched_within_seconds(length):
    """One test for the table: it lists every pair of format and text that takes too long or does not come back."""
    failures = []
    for kind, unit in product(FORMATS, REPEATED):
        source = (unit * length)[:length]
        begun = time.process_time()
        marked = protect(source, kind)
        seconds = time.process_time() - begun
        if seconds >= SECONDS_MAX or restore(marked.text, marked.kept) != source:
            failures.append((kind, unit, seconds))
    assert failures == []
