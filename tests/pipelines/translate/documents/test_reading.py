"""What cannot be translated is refused with what, why and what to do; nothing hangs and nothing large is read."""

import io
import os
import resource
import zipfile

import docx
import pytest

from leasehold.errors import Misuse
from leasehold.pipelines.translate.documents import read_document
from leasehold.pipelines.translate.documents.document import PARAGRAPH_BYTES_MAX, PARAGRAPHS_MAX, DocumentInvalid
from tests.pipelines.translate.documents.word_documents import manuscript, with_members

MEGABYTE = 1024 * 1024


def refusal(path):
    with pytest.raises(DocumentInvalid) as refused:
        read_document(path)
    assert refused.value.code == refused.type.code != "DOCUMENT_INVALID"
    assert isinstance(refused.value, Misuse)
    return str(refused.value)


def refusal_of(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    error = refusal(path)
    assert os.listdir(tmp_path) == [name]  # noqa: PTH208 - names are enough
    return error


def test_each_format_is_recognised_by_the_suffix_of_the_name(tmp_path):
    made = {"a.MD": b"x", "b.txt": b"x", "c.po": b'msgid "x"\nmsgstr ""\n', "d.docx": manuscript()}
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)
    documents = [read_document(tmp_path / name) for name in made]
    assert [document.format for document in documents] == ["markdown", "text", "po", "docx"]
    assert [document.name for document in documents] == list(made)


@pytest.mark.parametrize("name", ["x.pdf", "x", "x.doc", ".md"])
def test_the_error_for_an_unknown_suffix_lists_the_supported_ones(tmp_path, name):
    assert ".md, .markdown, .txt, .text, .po, .pot, .docx" in refusal_of(tmp_path, name, b"x")


@pytest.mark.parametrize("name", ["x.md", "x.txt", "x.po", "x.docx"])
def test_an_empty_file_is_refused_in_every_format(tmp_path, name):
    assert "0 bytes" in refusal_of(tmp_path, name, b"")


@pytest.mark.parametrize("content", [b"\n \n", b"---\na: b\n---\n", b"```\ncode\n```\n", b"***\n", b"\xef\xbb\xbf"])
def test_a_file_without_paragraphs_is_refused(tmp_path, content):
    assert "no paragraph" in refusal_of(tmp_path, "x.md", content)


@pytest.mark.parametrize("name", ["x.md", "x.txt", "x.po"])
def test_a_binary_file_is_refused(tmp_path, name):
    assert "NUL at byte 8" in refusal_of(tmp_path, name, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")


def test_invalid_utf8_is_reported_with_its_byte_and_line(tmp_path):
    assert "Byte 7 (line 2): invalid continuation byte" in refusal_of(tmp_path, "x.md", b"Hola\nse\xf1or\n")
    assert "UTF-16" in refusal_of(tmp_path, "x.md", "Hola".encode("utf-16"))


def test_two_hundred_megabytes_are_refused_without_reading_them(tmp_path):
    path = tmp_path / "x.md"
    with path.open("wb") as file:
        file.truncate(200 * MEGABYTE)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "209,715,200 bytes, limit 20,971,520" in refusal(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 * 1024


@pytest.mark.parametrize(("name", "where"), [("x.md", "line 3"), ("x.txt", "line 3"), ("x.po", "line 3")])
def test_a_paragraph_of_a_megabyte_is_refused_with_its_line(tmp_path, name, where):
    long = "word " * (MEGABYTE // 5)
    content = f'# one\n\nmsgid "{long}"\nmsgstr ""\n' if name == "x.po" else f"one\n\n{long}\n"
    error = refusal_of(tmp_path, name, content.encode())
    assert f"At {where}:" in error
    assert f"limit {PARAGRAPH_BYTES_MAX:,}" in error


def test_the_line_of_a_long_paragraph_counts_the_front_matter(tmp_path):
    content = "---\na: b\n---\n\n" + "x" * (PARAGRAPH_BYTES_MAX + 1)
    assert "At line 5:" in refusal_of(tmp_path, "x.md", content.encode())


def test_too_many_paragraphs_are_refused(tmp_path):
    assert "more than 100,000 paragraphs" in refusal_of(tmp_path, "x.txt", b"x\n\n" * (PARAGRAPHS_MAX + 1))


def test_what_is_no_regular_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    assert "Not a regular file" in refusal(tmp_path / "pipe.md")
    assert "Not a regular file" in refusal(tmp_path / "folder.md")
    assert "No such file" in refusal(tmp_path / "missing.md")


def test_a_zip_bomb_is_refused_by_the_size_it_declares(tmp_path):
    bomb = with_members(manuscript(), {"word/document.xml": b"<a>" + b" " * (60 * MEGABYTE) + b"</a>"})
    assert len(bomb) < MEGABYTE
    assert "unpacks to" in refusal_of(tmp_path, "x.docx", bomb)
    crowd = with_members(manuscript(), {f"word/media/{number}.bin": b"" for number in range(10_001)})
    assert "zip of 10," in refusal_of(tmp_path, "x.docx", crowd)


def test_a_member_that_lies_about_its_size_is_refused(tmp_path):
    bomb = with_members(manuscript(), {"word/document.xml": b"<a>" + b" " * (60 * MEGABYTE) + b"</a>"})
    lying = bomb.replace((60 * MEGABYTE + 7).to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    assert lying != bomb
    assert "As a DOCX" in refusal_of(tmp_path, "x.docx", lying)


def of_members(members):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as package:
        for name, body in members.items():
            package.writestr(name, body)
    return made.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"no zip",
        manuscript()[:3000],
        of_members({"a.txt": "x"}),
        of_members({"[Content_Types].xml": "<x/>"}),
        with_members(manuscript(), {"word/document.xml": b"<w:document"}),
        with_members(manuscript(), {"word/document.xml": b"<x/>"}),
        with_members(manuscript(), {"word/footnotes.xml": b"not XML"}),
        with_members(manuscript(), {"[Content_Types].xml": b"<x/>"}),
        with_members(manuscript(), {"_rels/.rels": b"<x/>"}),
    ],
)
def test_a_damaged_word_document_is_refused(tmp_path, content):
    assert "As a DOCX" in refusal_of(tmp_path, "x.docx", content)


def test_a_word_document_without_text_is_refused(tmp_path):
    content = io.BytesIO()
    docx.Document().save(content)
    assert "no paragraph" in refusal_of(tmp_path, "x.docx", content.getvalue())


@pytest.mark.parametrize("times", [1, 1000])
def test_a_word_document_that_declares_entities_is_refused(tmp_path, times):
    laughs = (
        b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "' + b"&a;" * times + b'"><!ENTITY c "' + b"&b;" * times + b'">]>'
    )
    footnotes = laughs + (
        b'<w:footnotes xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        b"<w:p><w:r><w:t>&c;</w:t></w:r></w:p></w:footnotes>"
    )
    content = with_members(manuscript(), {"word/footnotes.xml": footnotes})
    assert "As a DOCX" in refusal_of(tmp_path, "x.docx", content)
