"""The interface of Anthropic's service: `POST {base}/v1/messages`. The answer's shape is asked for by instruction."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from leasehold import Permanent
from leasehold.pipelines.translate.translators.endpoints.endpoint import Answer, Place, Question, decoded, keyless
from leasehold.pipelines.translate.translators.endpoints.http import Limits, Wire
from leasehold.pipelines.translate.translators.endpoints.unsupported_fields import (
    ASKED_MAX,
    REFUSED,
    Concessions,
    without,
)
from leasehold.pipelines.translate.translators.translator import bad_answer
from leasehold.shapes import Shape

BASE: Final = "https://api.anthropic.com"
VARIABLE: Final = "ANTHROPIC_API_KEY"
VERSION: Final = "2023-06-01"


class _Block(msgspec.Struct):
    type: str
    text: str = ""


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Message(msgspec.Struct):
    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage | None = None


_message: Final = Shape[_Message](_Message)


class Anthropic:
    """A model behind an Anthropic-style endpoint."""

    def __init__(self, place: Place, limits: Limits | None = None) -> None:
        self.name = f"anthropic:{place.model}"
        self._place = place
        self._wire = Wire(place, limits)
        self._concessions = Concessions("temperature")

    def ask(self, question: Question) -> Answer:
        """Return the answer's text; it is whole, but what it says is for the caller to check."""
        headers = {"anthropic-version": VERSION} | ({"x-api-key": self._place.key} if self._place.key else {})
        for _ in range(ASKED_MAX):
            given_up = self._concessions.given_up
            body = msgspec.json.encode(without(self._wanted(question), given_up))
            reply = self._wire.post("/v1/messages", headers, body)
            if reply.status == 200:  # noqa: PLR2004
                return keyless(self._place, _answer(decoded(reply.body.decode("utf-8", "replace"), _message)))
            if reply.status not in REFUSED or not self._concessions.concede(reply.words, given_up):
                break
        raise self._wire.refuse(reply)

    def _wanted(self, question: Question) -> dict[str, Any]:
        shape = msgspec.json.encode(question.schema).decode()
        return {
            "model": self._place.model,
            "max_tokens": question.tokens_max,
            "temperature": 0,
            "system": f"{question.instructions}\nThe JSON schema of the answer: {shape}",
            "messages": [{"role": "user", "content": question.material}],
        }


def _answer(message: _Message) -> Answer:
    usage = message.usage or _Usage()
    if message.stop_reason == "refusal":
        raise Permanent("The model refuses to work on this paragraph.", error_class="MODEL_REFUSED")
    if message.stop_reason == "max_tokens":
        raise bad_answer("The answer was cut off at its longest.")
    text = "".join(block.text for block in message.content if block.type == "text")
    return Answer(text, usage.input_tokens, usage.output_tokens)
