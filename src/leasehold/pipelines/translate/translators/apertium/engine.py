"""Apertium as a translator: the running programs of each direction, shared under a lock.

One that died is started again at once, and asked once more; one that hangs is killed, and the call fails as transient.
Placeholders travel as blanks (see `stream`); should the rules lose one, the pieces between them are translated apart.

From the second attempt on each sentence is translated by itself, Spanish questions get their ¿, and the glossary's
terms are forced: they arrive as the glossary has them. The first leaves terms to the engine, which inflects what it
knows.
"""

import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise, zip_longest
from typing import Final

from leasehold import Transient
from leasehold.pipelines.translate.limits import APERTIUM_SECONDS
from leasehold.pipelines.translate.translators.apertium.modes import Mode, find_mode, programs_of
from leasehold.pipelines.translate.translators.apertium.programs import ApertiumPrograms, PipelineDied
from leasehold.pipelines.translate.translators.apertium.stream import LAST_BLANK, TAIL, decode, encode, pieces_of
from leasehold.pipelines.translate.translators.translator import (
    Translation,
    TranslationRequest,
    bad_answer,
    check_answer,
    check_request,
    check_tags,
)

ASKED_MAX: Final = 2
_sentence_end: Final = re.compile(r"(?<=[.!?…])[\"'”’»)]*\s+(?=[^\W\d_]|[\"'“‘«(¿¡⟦])")
_blank_line: Final = re.compile(r"\n[^\S\n]*\n\s*")
_spanish: Final = frozenset({"es", "spa", "ast", "gl", "glg"})
_asked: Final = re.compile(r"(?P<lead>(?:^|(?<=[.!?…:;])\s+|\n)[\"'“‘«(—⟦0-9⟧ ]*)(?P<text>[^.!?…:;¿¡\n]+)(?P<end>[!?])")
_OPENING: Final = {"?": "¿", "!": "¡"}


class Apertium:
    def __init__(self, *, timeout: float = APERTIUM_SECONDS) -> None:
        self.name = "apertium"
        self._timeout = timeout
        self._lock = threading.Lock()
        self._programs: dict[str, ApertiumPrograms] = {}

    def check(self, source_language: str, target_language: str) -> None:
        """Refuse a pair that is not installed, naming those that are and how to install others."""
        check_tags(source_language, target_language)
        find_mode(source_language, target_language)

    def translate(self, request: TranslationRequest) -> Translation:
        """Translate by the rules of the installed pair; nothing in it is at random."""
        check_request(request)
        mode = find_mode(request.source_language, request.target_language)
        terms = request.glossary if request.attempt > 1 else {}
        parts = _divided(request.text, _blank_line)  # across which no word may move
        if request.attempt > 1:
            parts = [sentence for part in parts for sentence in _divided(part, _sentence_end)]
        text = "".join(self._translated(mode, part, terms) for part in parts)
        if request.attempt > 1:
            text = with_opening_marks(text, request.target_language)
        return check_answer(request, Translation(text, f"{self.name} {mode.name}"))

    def close(self) -> None:
        with self._lock:
            started, self._programs = self._programs, {}
            for programs in started.values():
                programs.close()

    def _translated(self, mode: Mode, text: str, terms: Mapping[str, str]) -> str:
        stream = encode(text, terms)
        pieces, blanks = pieces_of(stream)
        if any(letter.isalpha() for piece in pieces for letter in piece):
            if (made := decode(stream, self._ask(mode, stream.text))) is not None:
                return made
            # A blank was lost. Piece by piece it comes out worse, but nothing can be lost.
            pieces = [self._piece(mode, piece) for piece in pieces]
        return "".join(piece + blank for piece, blank in zip_longest(pieces, blanks, fillvalue=""))

    def _piece(self, mode: Mode, piece: str) -> str:
        if not piece.strip():
            return piece
        stream = encode(piece, {})
        if (made := decode(stream, self._ask(mode, stream.text))) is None:
            raise bad_answer("Apertium lost a part of the text.")
        return made

    def _ask(self, mode: Mode, text: str) -> str:
        with self._lock:
            for _ in range(ASKED_MAX):  # it may have been killed between two calls, whatever this text is
                with suppress(PipelineDied):
                    return self._once(mode, text)
        raise Transient("Apertium ended before it answered.", error_class="TRANSLATOR_DIED")

    def _once(self, mode: Mode, text: str) -> str:
        programs = self._programs.get(mode.name)
        if programs is None or not programs.usable:
            programs = self._programs[mode.name] = ApertiumPrograms(programs_of(mode))
        try:
            return programs.ask(text, (TAIL, LAST_BLANK), self._timeout)
        except BaseException:
            # Whatever it still answers would be taken for the answer to the next question.
            del self._programs[mode.name]
            programs.close()
            raise


def _divided(text: str, behind: re.Pattern[str]) -> list[str]:
    """Divide a text; joined, the pieces are the text."""
    ends = [found.end() for found in behind.finditer(text)]
    return [text[start:end] for start, end in pairwise([0, *ends, len(text)]) if start < end]


def with_opening_marks(text: str, language: str) -> str:
    """Put ¿ and ¡ before what is asked or called out, where the language wants them and they are missing."""
    if re.split("[-_]", language.lower())[0] not in _spanish:
        return text
    return _asked.sub(lambda found: f"{found['lead']}{_OPENING[found['end']]}{found['text']}{found['end']}", text)
