"""Word documents: formats travel as tags, and nothing that is not translated changes."""

import io
import re
import zipfile
from itertools import groupby

import docx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.pipelines.translate.documents.docx import read_docx
from leasehold.pipelines.translate.documents.protecting import protect, restore
from tests.pipelines.translate.documents.word_documents import manuscript
from tests.support.properties import examples

CONTENT = manuscript()
FABLE, PICTURE, LINK, LITERAL = 2, 3, 5, 6
TAG = re.compile(r"</?[0-9]+/?>")


@pytest.fixture
def document():
    return read_docx("x.docx", CONTENT)


def opened(content):
    return docx.Document(io.BytesIO(content))


def runs(paragraph):
    return [(run.text, run.bold, run.italic, run.font.size) for run in paragraph.runs]


def formats(paragraph):
    """The formats of its runs in order; neighbours that look alike are one, as they are to a reader."""
    return [look for look, _ in groupby((run.bold, run.italic, run.font.size) for run in paragraph.runs)]


def looks(content):
    """Everything about a document but its words."""
    found = opened(content)
    paragraphs = [(one.style.name, formats(one)) for one in found.paragraphs]
    pictures = [shape.width for shape in found.inline_shapes]
    links = [(link.address, len(link.runs)) for one in found.paragraphs for link in one.hyperlinks]
    cells = [(len(table.rows), len(table.columns)) for table in found.tables]
    return paragraphs, pictures, links, cells


def members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        return {name: package.read(name) for name in package.namelist()}


def test_formats_are_tags_in_the_source_of_a_paragraph(document):
    assert [paragraph.source for paragraph in document.paragraphs] == [
        "The Fox",
        "A fox saw <1>grapes</1> and <2>wanted</2> them.\tSoon\nafter.",
        "Before <1/> after.<2/>",
        "First item",
        "See <1>the page</1>",
        "Literally <1> and </2>, <3>bold</3>",
        "left",
        "right",
        "<1/> A note below.",
        "At the top",
        "At the foot",
    ]


def test_a_document_rendered_with_its_own_texts_is_itself(document):
    same = {paragraph.index: paragraph.source for paragraph in document.paragraphs}
    assert document.render(same) == document.render({}) == CONTENT


def test_a_faithful_translation_keeps_runs_styles_images_and_links(document):
    texts = {}
    for paragraph in document.paragraphs:
        marked = protect(paragraph.source, "docx")
        texts[paragraph.index] = restore(marked.text.swapcase(), marked.kept)
    rendered = document.render(texts)
    assert looks(rendered) == looks(CONTENT)
    assert [one.text for one in opened(rendered).paragraphs] == [
        one.text.swapcase() for one in opened(CONTENT).paragraphs
    ]
    assert opened(rendered).sections[0].header.paragraphs[0].text == "aT THE TOP"
    assert opened(rendered).tables[0].cell(0, 1).text == "RIGHT"
    assert b" a NOTE BELOW." in members(rendered)["word/footnotes.xml"]


def test_only_the_member_of_a_changed_paragraph_is_rewritten(document):
    before, after = members(CONTENT), members(document.render({FABLE: "Un zorro"}))
    assert [name for name in before if before[name] != after[name]] == ["word/document.xml"]
    assert list(before) == list(after)


def test_formats_follow_their_tags_when_the_words_change_places(document):
    rendered = document.render({FABLE: "<2>Quería</2> unas <1>uvas</1> el zorro."})
    assert runs(opened(rendered).paragraphs[1]) == [
        ("Quería", None, True, 177800),
        (" unas ", None, None, None),
        ("uvas", True, None, None),
        (" el zorro.", None, None, None),
    ]


@pytest.mark.parametrize(
    ("index", "translation", "text"),
    [
        (FABLE, "Sin etiquetas", "Sin etiquetas"),
        (FABLE, "<1>abierta y <9>desconocida</9>", "abierta y <9>desconocida</9>"),
        (FABLE, "</1>cerrada</2> sola<1/>", "cerrada sola"),
        (FABLE, "<1>a <2>b</2> c</1> d", "a b c d"),
        (LINK, "Sin enlace", "Sin enlace"),
        (LITERAL, "Literal </2> y <1>, <3>negrita</3>", "Literal </2> y <1>, negrita"),
    ],
)
def test_no_text_is_lost_with_a_tag(document, index, translation, text):
    place = {FABLE: 1, LINK: 5, LITERAL: 6}[index]
    assert opened(document.render({index: translation})).paragraphs[place].text == text


def test_an_image_whose_tag_is_lost_comes_at_the_end(document):
    rendered = opened(document.render({PICTURE: "Sin imagen."}))
    assert len(rendered.inline_shapes) == 1
    assert rendered.paragraphs[2].text.startswith("Sin imagen.")


@settings(max_examples=examples(60))
@given(
    st.lists(st.sampled_from(["<1>", "</1>", "<1/>", "<2>", "</2>", "<7>", "x", "\0", "\n", "\ud800", "&", "<", "\t"]))
)
def test_no_translation_loses_words_images_or_paragraphs(pieces):
    document = read_docx("x.docx", CONTENT)
    translation = "w" + "".join(pieces)
    rendered = opened(document.render({paragraph.index: translation for paragraph in document.paragraphs}))
    assert len(rendered.paragraphs) == len(opened(CONTENT).paragraphs)
    assert len(rendered.inline_shapes) == 1
    words = TAG.sub("", rendered.paragraphs[1].text)
    assert words.count("x") == translation.count("x")


def test_the_same_translation_gives_the_same_bytes_each_time(document):
    assert document.render({FABLE: "uno"}) == read_docx("x.docx", CONTENT).render({FABLE: "uno"})
