"""Plain text: blank lines divide it, and all white space around its paragraphs stays."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.pipelines.translate.documents.document import DocumentInvalid
from leasehold.pipelines.translate.documents.text import read_text
from tests.support.properties import examples


@settings(max_examples=examples(300))
@given(st.lists(st.sampled_from(["a", "b c", " ", "\t", "\n", "\r\n", "\r", "\ufeff", "\f", "\u2028"])).map("".join))
def test_a_text_rendered_with_its_own_paragraphs_is_itself(text):
    try:
        document = read_text("x.txt", text)
    except DocumentInvalid:
        assert not text.removeprefix("\ufeff").strip()
        return
    same = {paragraph.index: paragraph.source for paragraph in document.paragraphs}
    assert document.render(same) == document.render({}) == text.encode()


@settings(max_examples=examples(200))
@given(st.text(alphabet="xy -\n\r\t\u2028\ud800", min_size=1))
def test_no_translation_changes_the_number_of_paragraphs(translation):
    document = read_text("x.txt", "one\ntwo\n\n  three \r\n\r\nfour")
    rendered = document.render({1: translation, 2: translation, 3: translation}).decode()
    assert len(read_text("x.txt", rendered).paragraphs) == 3
    assert "\n\n  " in rendered
    assert not rendered.endswith(("\n", "\r"))


def test_a_translator_gets_one_line_and_a_reader_the_width_of_the_source():
    document = read_text("x.txt", "\ufeff\n    Once upon a\n  time there was\n  a fox.  \n\n")
    assert [paragraph.source for paragraph in document.paragraphs] == ["Once upon a time there was a fox."]
    rendered = document.render({1: "Érase una vez un zorro muy listo."}).decode()
    assert rendered == "\ufeff\n    Érase una vez un\n  zorro muy listo.  \n\n"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_ends_are_those_of_the_source(ending):
    document = read_text("x.txt", f"one two{ending}three{ending}{ending}four{ending}")
    assert document.render({1: "uno dos tres"}).decode() == f"uno dos{ending}tres{ending}{ending}four{ending}"
