"""PO catalogues: what wants a translation gets one, and every other byte stays."""

import polib  # type: ignore[import-untyped]
import pytest

from leasehold.pipelines.translate.documents.document import DocumentInvalid
from leasehold.pipelines.translate.documents.po import read_po

CATALOGUE = r"""# A comment.
msgid ""
msgstr ""
"Language: \n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#. of a developer
#: main.c:7
#, c-format
msgid "Hello, %s"
msgstr ""

msgctxt "menu"
msgid   "Open"
msgstr "Abrir"

#, fuzzy, c-format
#| msgid "Old %d"
msgid ""
"New %d\n"
"and \"more\"\n"
msgstr "Viejo %d\n"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

#, fuzzy
#~ msgid "gone"
#~ msgstr "ido"
msgid "last"
msgstr ""
"""


@pytest.fixture
def catalogue():
    return read_po("x.po", CATALOGUE)


def reread(rendered):
    return {entry.msgid: entry for entry in polib.pofile(rendered.decode())}


def test_untranslated_and_fuzzy_entries_are_the_paragraphs(catalogue):
    found = [paragraph.source for paragraph in catalogue.paragraphs]
    assert found == ["Hello, %s", 'New %d\nand "more"\n', "%d file", "%d files", "last"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_catalogue_rendered_with_its_own_texts_is_itself(ending):
    text = CATALOGUE.replace("\n", ending).removesuffix(ending)
    document = read_po("x.po", text)
    same = {paragraph.index: paragraph.source for paragraph in document.paragraphs}
    assert document.render(same) == document.render({}) == text.encode()


def test_translations_are_written_and_all_else_stays(catalogue):
    rendered = catalogue.render({1: "Hola, %s", 2: 'Nuevo %d\ny "más"', 3: "%d fichero", 4: "%d ficheros"})
    entries = reread(rendered)
    assert entries["Hello, %s"].msgstr == "Hola, %s"
    assert entries["Hello, %s"].flags == ["c-format"]
    assert (entries['New %d\nand "more"\n'].msgstr, entries['New %d\nand "more"\n'].flags) == (
        'Nuevo %d\ny "más"\n',
        ["c-format"],
    )
    assert entries["%d file"].msgstr_plural == {0: "%d fichero", 1: "%d ficheros"}
    assert entries["Open"].msgstr == "Abrir"
    assert (entries["gone"].obsolete, entries["gone"].fuzzy) == (True, True)
    kept = [line for line in CATALOGUE.splitlines() if line.startswith(("#.", "#:", "#~", '"Lang', "# A"))]
    assert [line for line in rendered.decode().splitlines() if line in kept] == kept


def test_a_fuzzy_entry_without_a_new_translation_stays_fuzzy(catalogue):
    entry = reread(catalogue.render({1: "Hola, %s"}))['New %d\nand "more"\n']
    assert (entry.fuzzy, entry.msgstr, entry.previous_msgid) == (True, "Viejo %d\n", "Old %d")


def test_a_language_with_one_form_gets_the_plural(catalogue):
    text = CATALOGUE.replace("nplurals=2; plural=(n != 1)", "nplurals=1; plural=0").replace('msgstr[1] ""\n', "")
    document = read_po("x.po", text)
    place = [paragraph.source for paragraph in document.paragraphs].index("%d files") + 1
    assert "%d file" not in [paragraph.source for paragraph in document.paragraphs]
    assert reread(document.render({place: "%d 個"}))["%d file"].msgstr_plural == {0: "%d 個"}


@pytest.mark.parametrize("translation", ['"', "\\", "\n\n", 'msgid "x"', "a\nb", "\u2028", "#~ x", "\r\n\t", "\ud800"])
def test_no_translation_breaks_a_catalogue(catalogue, translation):
    rendered = catalogue.render(dict.fromkeys(range(1, 6), f"x{translation}y"))
    assert list(reread(rendered)) == list(reread(CATALOGUE.encode()))
    assert reread(rendered)["last"].msgstr.startswith("x")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (CATALOGUE.replace("UTF-8", "ISO-8859-1"), "msgconv"),
        ('msgid ""\nmsgstr ""\n', "no paragraph"),
        ("just words\n", "As a PO file"),
    ],
)
def test_what_is_no_catalogue_is_refused_with_a_reason(text, reason):
    with pytest.raises(DocumentInvalid, match=reason):
        read_po("x.po", text)
