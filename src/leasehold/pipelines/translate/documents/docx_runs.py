"""The runs of a Word paragraph as a text with numbered tags, and back.

The format that most of the text has is not written; any other is a tag around it, `<1>bold</1>`, and what is no text
at all, an image, a footnote's number, a page break, is a tag by itself, `<2/>`. A number that the paragraph's own text
uses in such a way is not given. A tag that a translation lost loses a format, never a text, and what is no text comes
back at the end of the paragraph; a tag that was never given is text.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import Any, Final

from docx.opc.oxml import serialize_part_xml
from docx.oxml.ns import qn
from docx.oxml.parser import OxmlElement

_tag: Final = re.compile(r"<(?P<close>/?)(?P<number>[0-9]{1,6})(?P<alone>/?)>")
_run: Final = qn("w:r")
_properties: Final = qn("w:rPr")
_silent: Final = {_properties, qn("w:lastRenderedPageBreak")}
_wordless: Final = {qn("w:del"), qn("w:moveFrom")}
_texts: Final = {qn("w:tab"): "\t", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "\u2011", qn("w:softHyphen"): "\u00ad"}
# A proof reader's remark is gone with the words that it was about.
_stale: Final = {qn("w:proofErr")}
_illegal: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# Which differences between two runs a reader does not see.
_unseen: Final = {qn("w:lang"), qn("w:noProof")}


@dataclass(frozen=True, slots=True)
class Style:
    """What distinguishes one piece from the next: the element around its runs, and their format."""

    owner: int
    appearance: bytes
    parent: Any = field(compare=False)
    properties: Any = field(compare=False)


@dataclass(frozen=True, slots=True)
class Piece:
    """Neighbours of one style: their text, or elements that are no text."""

    style: Style
    text: str
    elements: tuple[Any, ...] = ()


def source(paragraph: Any) -> str:
    """Return the text of a paragraph with its tags; without any text it is empty."""
    pieces = _pieces(paragraph)
    text = "".join(piece.text for piece in pieces)
    if not text.strip():
        return ""
    numbers = {id(piece): number for number, piece in _numbered(paragraph, pieces).items()}
    return "".join(_tagged(piece, numbers.get(id(piece))) for piece in pieces)


def write(paragraph: Any, text: str) -> None:
    pieces = _pieces(paragraph)
    tagged = _numbered(paragraph, pieces)
    base = _base(paragraph, pieces)
    writer = RunWriter(paragraph, list(_runs(paragraph)))
    left = {number: piece for number, piece in tagged.items() if piece.elements}
    open_tags: list[Piece] = []
    end = 0
    for found in _tag.finditer(text):
        if (piece := tagged.get(int(found["number"]))) is None:
            continue
        writer.words(open_tags[-1].style if open_tags else base, text[end : found.start()])
        end = found.end()
        if piece.elements:
            if left.pop(int(found["number"]), None):
                writer.elements(piece.style, piece.elements)
        else:
            open_tags = [*open_tags, piece] if not found["close"] else open_tags[:-1]
    writer.words(open_tags[-1].style if open_tags else base, text[end:])
    for piece in left.values():
        writer.elements(piece.style, piece.elements)
    writer.close()


def _runs(element: Any) -> Iterator[Any]:
    """Yield the runs of a paragraph, those inside links and insertions too, but not those of text boxes."""
    for child in element:
        if child.tag == _run:
            yield child
        elif child.tag not in _wordless:
            yield from _runs(child)


def _pieces(paragraph: Any) -> list[Piece]:
    atoms = ((_style(run), child) for run in _runs(paragraph) for child in run if child.tag not in _silent)
    contents = [(style, _text(child), child) for style, child in atoms]
    made: list[Piece] = []
    for (style, is_text), group in groupby(contents, lambda atom: (atom[0], atom[1] is not None)):
        members = list(group)
        text = "".join(text or "" for _, text, _ in members)
        made.append(Piece(style, text, () if is_text else tuple(child for _, _, child in members)))
    return made


def _style(run: Any) -> Style:
    properties = run.find(_properties)
    appearance = b""
    if properties is not None:
        visible = deepcopy(properties)
        for unseen in [child for child in visible if child.tag in _unseen]:
            visible.remove(unseen)
        appearance = serialize_part_xml(visible) if len(visible) else b""
    return Style(id(run.getparent()), appearance, run.getparent(), properties)


def _text(child: Any) -> str | None:
    if child.tag == qn("w:t"):
        return child.text or ""
    if child.tag == qn("w:br"):
        return "\n" if child.get(qn("w:type"), "textWrapping") == "textWrapping" else None
    return _texts.get(child.tag)


def _base(paragraph: Any, pieces: Sequence[Piece]) -> Style:
    """Return the style that most of a paragraph's own text has: what is written without a tag."""
    lengths: Counter[Style] = Counter()
    for piece in pieces:
        if piece.style.parent is paragraph:
            lengths[piece.style] += len(piece.text)
    most = lengths.most_common(1)
    return most[0][0] if most else Style(id(paragraph), b"", paragraph, None)


def _numbered(paragraph: Any, pieces: Sequence[Piece]) -> dict[int, Piece]:
    base = _base(paragraph, pieces)
    taken = {int(found["number"]) for piece in pieces for found in _tag.finditer(piece.text)}
    free = (number for number in count(1) if number not in taken)
    return {next(free): piece for piece in pieces if piece.elements or piece.style != base}


def _tagged(piece: Piece, number: int | None) -> str:
    if number is None:
        return piece.text
    return f"<{number}/>" if piece.elements else f"<{number}>{piece.text}</{number}>"


class RunWriter:
    """Takes the runs out of a paragraph and appends others, each in the link or insertion that it belongs to.

    What stands around them, bookmarks and such, is kept.
    """

    def __init__(self, paragraph: Any, runs: list[Any]) -> None:
        self._paragraph = paragraph
        self._tops = {id(run.getparent()): _top(paragraph, run) for run in runs}
        tops = [_top(paragraph, run) for run in runs]
        first = min((paragraph.index(top) for top in tops), default=len(paragraph))
        later = list(paragraph)[first:]
        self._after = [child for child in later if child not in tops and child.tag not in _stale]
        for child in later:
            paragraph.remove(child)
        for run in runs:
            if run.getparent() is not None:
                run.getparent().remove(run)

    def words(self, style: Style, text: str) -> None:
        """Append a text; its tabs and line breaks become Word's own."""
        if legal := _illegal.sub("", text):
            self._append(style).text = legal

    def elements(self, style: Style, elements: Iterable[Any]) -> None:
        self._append(style).extend(elements)

    def close(self) -> None:
        """Put back what stood behind the first run."""
        self._paragraph.extend(self._after)

    def _append(self, style: Style) -> Any:
        run: Any = OxmlElement("w:r")
        if style.properties is not None:
            run.append(deepcopy(style.properties))
        if style.parent is not self._paragraph:
            top = self._tops[id(style.parent)]
            if top.getparent() is None:
                self._paragraph.append(top)
        style.parent.append(run)
        return run


def _top(paragraph: Any, run: Any) -> Any:
    top = run
    while top.getparent() is not paragraph:
        top = top.getparent()
    return top
