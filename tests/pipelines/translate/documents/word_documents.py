"""Word documents for tests: with formats, links, images, tables, notes."""

import io
import struct
import zipfile
import zlib
from functools import cache

import docx
from docx.enum.text import WD_BREAK
from docx.oxml.ns import qn
from docx.oxml.parser import OxmlElement
from docx.shared import Pt

FOOTNOTES = b"""<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<w:footnotes xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">
<w:footnote w:id="2"><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t xml:space="preserve"> A note below.</w:t></w:r></w:p>
</w:footnote></w:footnotes>"""


def png():
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\xff\0\0" * 2) * 2)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@cache
def manuscript():
    """Return a document with every kind of paragraph, as bytes."""
    made = docx.Document()
    made.add_heading("The Fox", level=1)
    fable = made.add_paragraph("A fox saw ")
    fable.add_run("grapes").bold = True
    fable.add_run(" and ")
    wanted = fable.add_run("wanted")
    wanted.italic = True
    wanted.font.size = Pt(14)
    fable.add_run(" them.\tSoon\nafter.")
    picture = made.add_paragraph("Before ")
    picture.add_run().add_picture(io.BytesIO(png()))
    picture.add_run(" after.").add_break(WD_BREAK.PAGE)
    made.add_paragraph("First item", style="List Bullet")
    made.add_paragraph("")
    add_link(made.add_paragraph("See "), "the page", "https://example.org")
    made.add_paragraph("Literally <1> and </2>, ").add_run("bold").bold = True
    table = made.add_table(rows=1, cols=2)
    table.cell(0, 0).text = "left"
    table.cell(0, 1).text = "right"
    made.sections[0].header.paragraphs[0].text = "At the top"
    made.sections[0].footer.paragraphs[0].text = "At the foot"
    content = io.BytesIO()
    made.save(content)
    return with_members(content.getvalue(), {"word/footnotes.xml": FOOTNOTES})


def add_link(paragraph, text, target):
    link = OxmlElement("w:hyperlink")
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink"
    link.set(qn("r:id"), paragraph.part.relate_to(target, kind, is_external=True))
    run = paragraph.add_run(text)
    link.append(run._element)  # noqa: SLF001 - python-docx has no other way to make a link
    paragraph._element.append(link)  # noqa: SLF001 - the same


def with_members(content, members):
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name not in members:
                new.writestr(name, old.read(name))
        for name, body in members.items():
            new.writestr(name, body)
    return made.getvalue()
