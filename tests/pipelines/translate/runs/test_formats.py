"""Real Apertium on a catalogue, a Word document and a plain text: each comes back in its own format, as it was made."""

import io
import re

import docx
import polib  # type: ignore[import-untyped]
import pytest

from leasehold.contracts import check_run
from leasehold.pipelines.translate.documents import read_document
from tests.pipelines.translate.documents.word_documents import manuscript
from tests.pipelines.translate.finished_run import run_translate
from tests.support.needs import APERTIUM

CATALOGUE = r"""# The words of a small program.
msgid ""
msgstr ""
"Language: es\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#. Shown when the program starts.
#: main.c:7
#, c-format
msgid "Good morning, %s. The house is open."
msgstr ""

msgctxt "menu"
msgid "Open"
msgstr "Abrir"

#: files.c:12
msgid ""
"You have not saved the document.\n"
"The changes are not on the disk."
msgstr ""

msgid "The garden has %d red house"
msgid_plural "The garden has %d red houses"
msgstr[0] ""
msgstr[1] ""

#~ msgid "gone"
#~ msgstr "ido"
"""
TALE = """\
\tThe fox walked through the forest,
\tand it saw a small house with 12 windows.


The house had no door. The fox did not enter;
see https://example.org/fox?page=3 for the rest.

  THE END
"""


@pytest.fixture(params=[APERTIUM.param("apertium")])
def made(tmp_path):
    """Translates a document of this name and content, and returns the run and what was written."""

    def make(name, content):
        (tmp_path / name).write_bytes(content)
        run = run_translate(tmp_path / name, tmp_path / "runs", "--unattended")
        assert run.exit_code in (0, 1), run.said
        assert set(run.states) <= {"approved", "rejected"}
        assert run.states.count("approved") > len(run.states) / 2
        assert check_run(run.folder).problems == 0
        assert run.manifest["counts"]["paragraphs_total"] == len(read_document(tmp_path / name).paragraphs)
        assert (run.folder / "report.html").is_file()
        return run, (run.folder / "final" / name).read_bytes()

    return make


def unwritten(entry):
    """Everything of an entry but its translation."""
    return entry.msgctxt, entry.msgid, entry.msgid_plural, entry.comment, entry.occurrences, entry.obsolete


def test_a_catalogue_comes_back_with_its_entries_and_their_placeholders(made):
    _, written = made("program.po", CATALOGUE.encode())
    before, after = polib.pofile(CATALOGUE), polib.pofile(written.decode())
    assert [unwritten(entry) for entry in after] == [unwritten(entry) for entry in before]
    assert [entry.flags for entry in after] == [entry.flags for entry in before]
    assert after.metadata == before.metadata
    greeting, menu, unsaved, garden, gone = after
    assert greeting.msgstr.startswith("Buenos días, %s. ")
    assert (menu.msgstr, gone.msgstr) == ("Abrir", "ido")
    assert re.fullmatch(r"No has salvado el documento\.\n.*disco\.", unsaved.msgstr)
    assert "casa roja" in garden.msgstr_plural[0]
    assert "casas rojas" in garden.msgstr_plural[1]
    assert [text.count("%d") for text in garden.msgstr_plural.values()] == [1, 1]


def styles(document):
    return [one.style.name for one in document.paragraphs]


def test_a_word_document_comes_back_with_its_formats_pictures_and_links(made):
    source = manuscript()
    _, written = made("fable.docx", source)
    before, after = (docx.Document(io.BytesIO(content)) for content in (source, written))
    assert styles(after) == styles(before)
    fable = after.paragraphs[1]
    assert "zorro" in fable.text
    assert {run.text.strip() for run in fable.runs if run.bold} == {"uvas"}
    assert len([run for run in fable.runs if run.italic]) == 1
    assert [shape.width for shape in after.inline_shapes] == [shape.width for shape in before.inline_shapes]
    links = [[link.address for one in file.paragraphs for link in one.hyperlinks] for file in (before, after)]
    assert links[0] == links[1] == ["https://example.org"]
    assert [cell.text for cell in after.tables[0].rows[0].cells] != ["left", "right"]


def gaps(text):
    """The white space at both ends of a text, and between its paragraphs."""
    return re.findall(r"\A\s*|\n\s*\n\s*|\s*\Z", text)


def test_a_plain_text_comes_back_with_its_blank_lines_and_indents(made):
    run, written = made("tale.txt", TALE.encode())
    text = written.decode()
    assert gaps(text) == gaps(TALE) == ["\t", "\n\n\n", "\n\n  ", "\n", ""]
    forest, house, end = re.split(r"\n\s*\n\s*", text.strip())
    assert all(line.startswith("\t") for line in forest.split("\n")[1:])
    assert "12 ventanas" in forest
    assert house.endswith("el resto.")
    assert "https://example.org/fox?page=3" in house
    assert end == "THE END" or run.states[2] == "approved"
