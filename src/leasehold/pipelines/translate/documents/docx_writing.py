"""New runs in the place of a Word paragraph's old ones; what stands around them, bookmarks and such, is kept."""

import re
from collections.abc import Iterable
from copy import deepcopy
from typing import Any, Final, Protocol

from docx.oxml.ns import qn
from docx.oxml.parser import OxmlElement

_illegal: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# A proof reader's remark is gone with the words that it was about.
_stale: Final = {qn("w:proofErr")}


class _Style(Protocol):
    @property
    def parent(self) -> Any: ...
    @property
    def properties(self) -> Any: ...


class RunWriter:
    """Takes the runs out of a paragraph and appends others, each in the link or insertion that it belongs to."""

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

    def words(self, style: _Style, text: str) -> None:
        """Append a text; its tabs and line breaks become Word's own."""
        legal = _illegal.sub("", text)
        if legal:
            self._append(style).text = legal

    def elements(self, style: _Style, elements: Iterable[Any]) -> None:
        """Append what is no text."""
        run = self._append(style)
        for element in elements:
            run.append(element)

    def close(self) -> None:
        """Put back what stood behind the first run."""
        for child in self._after:
            self._paragraph.append(child)

    def _append(self, style: _Style) -> Any:
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
