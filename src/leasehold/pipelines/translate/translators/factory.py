"""From a name on the command line to a translator, or a reviewer."""

from pathlib import Path

from leasehold.pipelines.translate.translators.apertium import Apertium
from leasehold.pipelines.translate.translators.call_log import LoggedTranslator
from leasehold.pipelines.translate.translators.dictionary import Dictionary
from leasehold.pipelines.translate.translators.endpoints import anthropic, openai
from leasehold.pipelines.translate.translators.endpoints.endpoint import Endpoint, address_of
from leasehold.pipelines.translate.translators.endpoints.http import ExchangeLimits
from leasehold.pipelines.translate.translators.models import ModelTranslator
from leasehold.pipelines.translate.translators.translator import Translator, TranslatorInvalid


def make_translator(spec: str, *, log: Path | None = None, redact: bool = False) -> Translator:
    """Return the translator of a name: apertium, dictionary:PATH, openai:MODEL[@BASE], anthropic:MODEL[@BASE].

    With `log`, its calls are written down there; with `redact`, what a model is sent has passed the redactor.
    """
    made = _made(spec, redact=redact)
    return made if log is None else LoggedTranslator(made, log)


def make_endpoint(spec: str, limits: ExchangeLimits | None = None) -> Endpoint:
    """Return the endpoint of a name: openai:MODEL[@BASE] or anthropic:MODEL[@BASE], BASE as in https://host/v1."""
    kind, _, rest = spec.partition(":")
    model, _, base = rest.partition("@")
    match kind:
        case "openai":
            return openai.OpenAI(address_of(model, base, openai.BASE, openai.VARIABLE), limits)
        case "anthropic":
            return anthropic.Anthropic(address_of(model, base, anthropic.BASE, anthropic.VARIABLE), limits)
    raise TranslatorInvalid(f"{spec[:80]!r} is none of these.")


def _made(spec: str, *, redact: bool) -> Translator:
    kind, _, rest = spec.partition(":")
    if spec == "apertium":
        return Apertium()
    if kind == "dictionary" and rest:
        return Dictionary(Path(rest))
    return ModelTranslator(make_endpoint(spec), redact=redact)
