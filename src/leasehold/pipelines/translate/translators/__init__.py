"""Who translates: Apertium, a model behind an endpoint, or a dictionary, all behind one small protocol.

    translator = make_translator("apertium")
    translator.check("en", "es")
    translator.translate(TranslationRequest("The ⟦1⟧ house is red.", "en", "es")).text

Threads may share a translator. What it returns holds every placeholder of the request exactly once, or it raises.
"""

from pathlib import Path

from leasehold.pipelines.translate.translators.apertium.engine import Apertium
from leasehold.pipelines.translate.translators.dictionary import Dictionary
from leasehold.pipelines.translate.translators.endpoints.interfaces import make_endpoint
from leasehold.pipelines.translate.translators.models import ModelTranslator
from leasehold.pipelines.translate.translators.translator import Translator


def make_translator(spec: str, *, redact: bool = False) -> Translator:
    """Return the translator of a name: apertium, dictionary:PATH, openai:MODEL[@BASE], anthropic:MODEL[@BASE].

    With `redact`, what a model is sent has passed the redactor.
    """
    kind, _, rest = spec.partition(":")
    if spec == "apertium":
        return Apertium()
    if kind == "dictionary" and rest:
        return Dictionary(Path(rest))
    return ModelTranslator(make_endpoint(spec), redact=redact)
