"""Dividing a text, and what rules can do a second time: each sentence by itself, and opening marks in Spanish.

These are done from the second attempt on, together with the glossary's terms. The first attempt leaves terms to the
engine, which inflects and agrees what it knows; a forced term arrives as the glossary has it.
"""

import re
from typing import Final

_sentence_end: Final = re.compile(r"(?<=[.!?…])[\"'”’»)]*\s+(?=[^\W\d_]|[\"'“‘«(¿¡⟦])")
_blank_line: Final = re.compile(r"\n[^\S\n]*\n\s*")
_spanish: Final = frozenset({"es", "spa", "ast", "gl", "glg"})
_asked: Final = re.compile(r"(?P<lead>(?:^|(?<=[.!?…:;])\s+|\n)[\"'“‘«(—⟦0-9⟧ ]*)(?P<text>[^.!?…:;¿¡\n]+)(?P<end>[!?])")
_OPENING: Final = {"?": "¿", "!": "¡"}


def paragraphs(text: str) -> list[str]:
    """Divide a text behind its blank lines, across which no word may move; joined, the pieces are the text."""
    return _divided(text, _blank_line)


def sentences(text: str) -> list[str]:
    """Divide a text behind its blank lines and its sentences; joined, the pieces are the text."""
    return [sentence for paragraph in paragraphs(text) for sentence in _divided(paragraph, _sentence_end)]


def _divided(text: str, behind: re.Pattern[str]) -> list[str]:
    ends = [found.end() for found in behind.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True) if start < end]


def opened_marks(text: str, language: str) -> str:
    """Put ¿ and ¡ before what is asked or called out, where the language wants them and they are missing."""
    if re.split("[-_]", language.lower())[0] not in _spanish:
        return text
    return _asked.sub(lambda found: f"{found['lead']}{_OPENING[found['end']]}{found['text']}{found['end']}", text)
