"""Asking an endpoint of the tests' own: translators and requests, and the failure that a call ends with."""

import json
from contextlib import contextmanager

import pytest

from leasehold import Permanent, Transient
from leasehold.pipelines.translate.translators.endpoints.endpoint import ExchangeLimits
from leasehold.pipelines.translate.translators.endpoints.interfaces import make_endpoint
from leasehold.pipelines.translate.translators.models import ModelTranslator
from leasehold.pipelines.translate.translators.translator import TranslationRequest
from tests.support.http.model_endpoint import EndpointServer, completion

KEY = "k3y-of-the-tests-0123456789"
TOKEN = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"  # noqa: S105 — it opens nothing
TEXT = "The ⟦1⟧ house is red."
GOOD = json.dumps({"translation": "La casa ⟦1⟧ es roja."})


def translator_at(server, *, limits=None, redact=False):
    return ModelTranslator(make_endpoint(f"openai:some-model@{server.base}/v1", limits), redact=redact)


@contextmanager
def answering(*replies):
    """Serve these replies in turn; the last one from then on."""
    left = list(replies)
    with EndpointServer(lambda _: left.pop(0) if len(left) > 1 else left[0]) as server:
        yield server


def ask(server, text=TEXT, limits=None, **more):
    return translator_at(server, limits=limits).translate(TranslationRequest(text, "en", "es", **more))


def failure_of(*replies, limits=None):
    """Return what a call ends with that is answered so."""
    with answering(*replies) as server, pytest.raises((Transient, Permanent)) as failed:
        ask(server, limits=limits)
    return failed.value


def good():
    return completion(GOOD)


SHORT = ExchangeLimits(connect_seconds=5, response_seconds=0.5)
