"""Apertium as a translator: the running programs of each direction, shared under a lock.

One that died is started again at once, and asked once more; one that hangs is killed, and the call fails as transient.
Marks travel as blanks (see `stream`); should the rules lose one, the pieces between them are translated apart. A rework
(see `rework`) does a little more and may well come to the same text.
"""

import threading
from collections.abc import Mapping
from typing import Final

from leasehold import Transient
from leasehold.pipelines.translate.translators.apertium.modes import Mode, find_mode, programs_of
from leasehold.pipelines.translate.translators.apertium.pipeline import PipelineDied
from leasehold.pipelines.translate.translators.apertium.rework import opened_marks, paragraphs, sentences
from leasehold.pipelines.translate.translators.apertium.runner import ApertiumPrograms
from leasehold.pipelines.translate.translators.apertium.stream import (
    LAST_BLANK,
    TAIL,
    Stream,
    decode,
    encode,
    pieces_of,
)
from leasehold.pipelines.translate.translators.translator import (
    Translation,
    TranslationRequest,
    bad_answer,
    check_answer,
    check_request,
    check_tags,
)

TIMEOUT_SECONDS: Final = 60.0


class Apertium:
    """Translates between the pairs that are installed."""

    def __init__(self, *, timeout: float = TIMEOUT_SECONDS) -> None:
        self.name = "apertium"
        self._timeout = timeout
        self._lock = threading.Lock()
        self._courses: dict[str, ApertiumPrograms] = {}

    def check(self, source_language: str, target_language: str) -> None:
        """Refuse a pair that is not installed, naming those that are and how to install others."""
        check_tags(source_language, target_language)
        find_mode(source_language, target_language)

    def translate(self, request: TranslationRequest) -> Translation:
        """Translate by the rules of the installed pair; nothing in it is at random."""
        check_request(request)
        check_tags(request.source_language, request.target_language)
        mode = find_mode(request.source_language, request.target_language)
        terms = request.glossary if request.attempt > 1 else {}
        parts = sentences(request.text) if request.attempt > 1 else paragraphs(request.text)
        text = "".join(self._translated(mode, part, terms) for part in parts)
        if request.attempt > 1:
            text = opened_marks(text, request.target_language)
        return check_answer(request, Translation(text, f"{self.name} {mode.name}"))

    def close(self) -> None:
        """End every program that was started."""
        with self._lock:
            courses, self._courses = self._courses, {}
            for course in courses.values():
                course.close()

    def _translated(self, mode: Mode, text: str, terms: Mapping[str, str]) -> str:
        stream = encode(text, terms)
        if not any(letter.isalpha() for piece in pieces_of(stream)[0] for letter in piece):
            return "".join(_alternating(*pieces_of(stream)))
        made = decode(stream, self._ask(mode, stream.text))
        return self._apart(mode, stream) if made is None else made

    def _apart(self, mode: Mode, stream: Stream) -> str:
        """Translate what stands between the blanks piece by piece: worse, but nothing can be lost."""
        pieces, blanks = pieces_of(stream)
        made = [self._piece(mode, piece) for piece in pieces]
        return "".join(_alternating(made, blanks))

    def _piece(self, mode: Mode, piece: str) -> str:
        if not piece.strip():
            return piece
        stream = encode(piece, {})
        made = decode(stream, self._ask(mode, stream.text))
        if made is None:
            raise bad_answer("Apertium lost a part of the text.")
        return made

    def _ask(self, mode: Mode, text: str) -> str:
        with self._lock:
            try:
                return self._once(mode, text)
            except PipelineDied:
                pass  # it may have been killed between two calls, which has nothing to do with this text: once more
            try:
                return self._once(mode, text)
            except PipelineDied:
                raise Transient("Apertium ended before it answered.", error_class="TRANSLATOR_DIED") from None

    def _once(self, mode: Mode, text: str) -> str:
        try:
            return self._course(mode).ask(text, (TAIL, LAST_BLANK), self._timeout)
        except BaseException:
            # Whatever it still answers would be taken for the answer to the next question.
            self._end(mode)
            raise

    def _course(self, mode: Mode) -> ApertiumPrograms:
        there = self._courses.get(mode.name)
        if there is None or not there.usable:
            there = self._courses[mode.name] = ApertiumPrograms(programs_of(mode))
        return there

    def _end(self, mode: Mode) -> None:
        course = self._courses.pop(mode.name, None)
        if course is not None:
            course.close()


def _alternating(pieces: list[str], blanks: list[str]) -> list[str]:
    paired = [text for piece, blank in zip(pieces, blanks, strict=False) for text in (piece, blank)]
    return [*paired, *pieces[len(blanks) :]]
