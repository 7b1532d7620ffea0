"""The log of a translator: one line of JSON for every call that came to its end, so that anybody can count them."""

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Final

from leasehold import Permanent, Transient
from leasehold.pipelines.translate.translators.translator import Translation, TranslationRequest, Translator

MODE: Final = 0o600


class LoggedTranslator:
    """A translator that writes its calls down when they end: answered, or failed with a class. The text is not logged.

    A line is one `write` to a file opened to append, so lines of several processes never mix. If we die before it,
    the answer is lost with us, and no line records it.
    """

    def __init__(self, translator: Translator, path: Path) -> None:
        self._translator = translator
        self._path = path
        self.name = translator.name

    def check(self, source_language: str, target_language: str) -> None:
        self._translator.check(source_language, target_language)

    def translate(self, request: TranslationRequest) -> Translation:
        """Translate, and write down how it ended."""
        try:
            made = self._translator.translate(request)
        except (Permanent, Transient) as failure:
            self._write(request, failure.error_class)
            raise
        self._write(request, "answered")
        return made

    def close(self) -> None:
        """Close the translator; the log is open only while a line is written."""
        self._translator.close()

    def _write(self, request: TranslationRequest, ended: str) -> None:
        line = {
            "at": round(time.time(), 3),
            "sha256": hashlib.sha256(request.text.encode("utf-8", "surrogatepass")).hexdigest(),
            "attempt": request.attempt,
            "translator": self.name,
            "ended": ended,
        }
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, MODE)
        try:
            os.write(file, json.dumps(line, sort_keys=True).encode() + b"\n")
        finally:
            os.close(file)
