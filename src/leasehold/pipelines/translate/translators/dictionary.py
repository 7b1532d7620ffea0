"""Word by word from a file: for tests of the flow, the same on every machine and of no use to a reader.

    {"words": {"house": "casa"}, "again": {"house": "hogar"}, "source_language": "en", "target_language": "es"}

`again` goes before `words` from the second attempt on, and the glossary's single words before both. Without languages
it stands for any pair. A word that is not there stays as it is.
"""

import re
from pathlib import Path
from typing import Final

import msgspec

from leasehold.pipelines.translate.translators.translator import (
    PLACEHOLDER,
    PairUnsupported,
    Translation,
    TranslationRequest,
    TranslatorInvalid,
    check_answer,
    check_request,
    check_tags,
)
from leasehold.shapes import Shape

FILE_BYTES_MAX: Final = 10_000_000
_piece: Final = re.compile(rf"{PLACEHOLDER.pattern}|[^\W\d_]+")


class WordList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    words: dict[str, str]
    again: dict[str, str] = {}
    source_language: str | None = None
    target_language: str | None = None


_words: Final = Shape[WordList](WordList)


class Dictionary:
    def __init__(self, path: Path) -> None:
        self._words = _read(path)
        self.name = f"dictionary {path.name}"

    def check(self, source_language: str, target_language: str) -> None:
        check_tags(source_language, target_language)
        there = (self._words.source_language, self._words.target_language)
        asked = (source_language, target_language)
        if any(own is not None and own != wanted for own, wanted in zip(there, asked, strict=True)):
            raise PairUnsupported(
                f"The dictionary is for {there[0] or 'any'}→{there[1] or 'any'}, not for {asked[0]}→{asked[1]}."
            )

    def translate(self, request: TranslationRequest) -> Translation:
        """Return the text with every known word replaced; a capital stays one."""
        check_request(request)
        self.check(request.source_language, request.target_language)
        known = dict(self._words.words)
        if request.attempt > 1:
            known |= self._words.again
        known |= {word.lower(): term for word, term in request.glossary.items()}
        text = _piece.sub(lambda found: _word(found[0], known), request.text)
        return check_answer(request, Translation(text, self.name))

    def close(self) -> None:
        """Nothing was started."""


def _word(word: str, known: dict[str, str]) -> str:
    term = known.get(word.lower(), word)
    return term[:1].upper() + term[1:] if word[:1].isupper() else term


def _read(path: Path) -> WordList:
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise TranslatorInvalid(f"The dictionary {str(path)!r} cannot be read: {error.strerror}.") from None
    if len(content) > FILE_BYTES_MAX:
        raise TranslatorInvalid(f"A dictionary has at most {FILE_BYTES_MAX:,} bytes; {str(path)!r} has more.")
    try:
        return _words.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TranslatorInvalid(f"The dictionary {str(path)!r} is not as it should be: {error}.") from None
