"""From a name on the command line to a translator."""

from __future__ import annotations

from pathlib import Path

from leasehold.pipelines.translate.translators.apertium import Apertium
from leasehold.pipelines.translate.translators.calls import Logged
from leasehold.pipelines.translate.translators.dictionary import Dictionary
from leasehold.pipelines.translate.translators.translator import Translator, TranslatorInvalid


def make_translator(spec: str, *, log: Path | None = None) -> Translator:
    """Return the translator of a name: apertium, or dictionary:PATH. With `log`, its calls are written down there."""
    made = _made(spec)
    return made if log is None else Logged(made, log)


def _made(spec: str) -> Translator:
    kind, _, rest = spec.partition(":")
    if spec == "apertium":
        return Apertium()
    if kind == "dictionary" and rest:
        return Dictionary(Path(rest))
    raise TranslatorInvalid(f"{spec[:80]!r} is none of these.")
