"""Whatever a Markdown document looks like, it is read, written back the same, and keeps its blocks."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from leasehold.pipelines.translate.documents.document import DocumentEmpty
from leasehold.pipelines.translate.documents.markdown import read_markdown
from leasehold.pipelines.translate.documents.markdown_blocks import begins_block
from tests.pipelines.translate.documents.structure import blocks_of, texts_of
from tests.pipelines.translate.documents.test_markdown_structure import NASTY
from tests.support.properties import examples

STARTS = ["", "> ", ">", "- ", "* ", "1. ", "10) ", "  ", "    ", "\t", "# ", "### ", "[^n]: ", "| ", "   "]
TEXTS = [
    "word", "two words", "a | b", "a | b |", "--|--", "|---|---|", ":-:", "---", "===", "***", "```", "~~~", "# x #",
    "[x]: y", "[x]:", '"title"', "y 'z'", "<div>", "</div>", "<!-- c", "-->", "<b>x</b>", "", "", "x  ", "x\\",
    "a\\|b | `c`", "[x] and [x][]", "![x](y)", "*e*", "\xa0", "\f", "[^n] note", "x ##", "\\", "-", "1.", "+",
]  # fmt: skip
LINES = st.tuples(st.lists(st.sampled_from(STARTS), max_size=3).map("".join), st.sampled_from(TEXTS)).map("".join)
DOCUMENTS = st.tuples(st.lists(LINES, min_size=1, max_size=12), st.sampled_from(["\n", "\r\n", "\r"])).map(
    lambda made: made[1].join(made[0])
)


@settings(max_examples=examples(300))
@example("- |\n:-:", ["x"])
@example("- word\n| word\n    :-:", ["# "])
@example("- word\n| a | b\n  --|--\n  c | d", ["# "])
@example("> word\n---", ["|"])
@example("- word\n---", ["a | b"])
@example("* word", ["**"])
@example("# word\n---", ["|"])
@example("1. \xa0\n.", [">"])
@example("word\n\n>- <!--\n>", ["x"])
@given(DOCUMENTS, st.lists(NASTY, min_size=1, max_size=5))
def test_any_document_keeps_its_bytes_and_under_any_translation_its_blocks(text, translations):
    try:
        document = read_markdown("x.md", text)
    except DocumentEmpty:
        assert all(begins_block(one) for one in texts_of(text) if one)  # a cell that is more than a cell
        return
    same = {paragraph.index: paragraph.source for paragraph in document.paragraphs}
    assert document.render(same) == text.encode()
    texts = {index: translations[index % len(translations)] for index in same}
    assert blocks_of(document.render(texts).decode()) == blocks_of(text)
