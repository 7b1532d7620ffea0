"""The Anthropic-style path against a server that checks what it is asked, as the real one does."""

import json

import pytest

from leasehold import Permanent, Transient
from leasehold.pipelines.translate.translators.endpoints.interfaces import make_endpoint
from leasehold.pipelines.translate.translators.models import ModelTranslator
from leasehold.pipelines.translate.translators.translator import TranslationRequest
from tests.pipelines.translate.translators.model_calls import GOOD, KEY, TEXT
from tests.support.http.model_endpoint import EndpointServer, Reply, message, refusal


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("LEASEHOLD_TRANSLATE_KEY", KEY)


def strict(asked):
    """Refuse whatever the real interface would refuse."""
    if asked.path != "/v1/messages" or asked.headers.get("x-api-key") != KEY:
        return refusal(401, "authentication_error")
    if asked.headers.get("anthropic-version") != "2023-06-01":
        return refusal(400, "anthropic-version: header is required")
    known = {"model", "max_tokens", "messages", "system", "temperature"}
    if set(asked.body) - known or not isinstance(asked.body.get("max_tokens"), int):
        return refusal(400, "invalid_request_error")
    if [message["role"] for message in asked.body["messages"]] != ["user"] or not isinstance(asked.body["system"], str):
        return refusal(400, "messages: roles must alternate and begin with user")
    return message(GOOD, tokens=(90, 21))


def translate(script, text=TEXT):
    with EndpointServer(script) as server:
        made = ModelTranslator(make_endpoint(f"anthropic:claude-x@{server.base}"))
        return made.translate(TranslationRequest(text, "en", "es")), server.asked


def failure_of(reply):
    with pytest.raises((Transient, Permanent)) as failed:
        translate(lambda _: reply)
    return failed.value


def test_a_question_has_the_shape_of_the_interface_and_its_answer_is_counted():
    made, (asked,) = translate(strict)
    assert (made.text, made.translator) == ("La casa ⟦1⟧ es roja.", "anthropic:claude-x")
    assert (made.tokens_in, made.tokens_out) == (90, 21)
    assert json.loads(asked.body["messages"][0]["content"]) == {"text": TEXT}
    assert '"required":["translation"]' in asked.body["system"]


def test_a_model_that_knows_no_temperature_is_asked_without_one():
    made, asked = translate(
        lambda asked: refusal(400, "temperature is deprecated") if "temperature" in asked.body else strict(asked)
    )
    assert made.text == "La casa ⟦1⟧ es roja."
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("reply", "error_class"),
    [
        (message(GOOD, stop="max_tokens"), "BAD_ANSWER"),
        (message("La casa ⟦1⟧"), "BAD_ANSWER"),
        (Reply(200, b'{"content": [{"type": "tool_use", "id": "x"}]}'), "BAD_ANSWER"),
        (message(GOOD, stop="refusal"), "MODEL_REFUSED"),
        (refusal(529, "overloaded_error", ("retry-after", "9")), "ENDPOINT_BUSY"),
        (refusal(401, "invalid x-api-key"), "ENDPOINT_REFUSED"),
        (refusal(400, "max_tokens: too many"), "ENDPOINT_REFUSED"),
    ],
)
def test_answers_and_refusals_have_their_classes(reply, error_class):
    failed = failure_of(reply)
    assert failed.error_class == error_class
    assert isinstance(failed, Permanent) == (error_class in ("MODEL_REFUSED", "ENDPOINT_REFUSED"))
    if error_class == "ENDPOINT_BUSY":
        assert isinstance(failed, Transient)
        assert failed.retry_after == 9
