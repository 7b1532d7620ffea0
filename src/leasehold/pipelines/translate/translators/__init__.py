"""Who translates: Apertium, a model behind an endpoint, or a dictionary, all behind one small protocol.

    translator = make_translator("apertium")
    translator.check("en", "es")
    translator.translate(Request("The ⟦1⟧ house is red.", "en", "es")).text

A translator may be shared by threads. What it returns holds every mark of the request exactly once, or it raises.
"""

from leasehold.pipelines.translate.translators.factory import make_translator
from leasehold.pipelines.translate.translators.translator import (
    MarksLost,
    PairUnsupported,
    Translation,
    TranslationRequest,
    Translator,
    TranslatorInvalid,
)

__all__ = [
    "MarksLost",
    "PairUnsupported",
    "Translation",
    "TranslationRequest",
    "Translator",
    "TranslatorInvalid",
    "make_translator",
]
