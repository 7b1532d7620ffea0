"""The interface of Anthropic's service: `POST {base}/v1/messages`. The answer's shape is asked for by instruction."""

from typing import Any, Final

import msgspec

from leasehold import Permanent
from leasehold.pipelines.translate.translators.endpoints.endpoint import (
    ModelAddress,
    ModelAnswer,
    ModelQuestion,
    decoded,
    keyless,
)
from leasehold.pipelines.translate.translators.endpoints.http import EndpointClient, ExchangeLimits
from leasehold.pipelines.translate.translators.endpoints.unsupported_fields import UnsupportedFields
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

    def __init__(self, address: ModelAddress, limits: ExchangeLimits | None = None) -> None:
        self.name = f"anthropic:{address.model}"
        self._address = address
        self._client = EndpointClient(address, limits)
        self._unsupported = UnsupportedFields("temperature")

    def ask(self, question: ModelQuestion) -> ModelAnswer:
        """Return the complete text of the answer; the caller checks what it holds."""
        headers = {"anthropic-version": VERSION} | ({"x-api-key": self._address.key} if self._address.key else {})
        body = self._client.ask("/v1/messages", headers, self._fields(question), self._unsupported)
        return keyless(self._address, _answer(decoded(body, _message)))

    def _fields(self, question: ModelQuestion) -> dict[str, Any]:
        shape = msgspec.json.encode(question.schema).decode()
        return {
            "model": self._address.model,
            "max_tokens": question.tokens_max,
            "temperature": 0,
            "system": f"{question.instructions}\nThe JSON schema of the answer: {shape}",
            "messages": [{"role": "user", "content": question.material}],
        }


def _answer(message: _Message) -> ModelAnswer:
    usage = message.usage or _Usage()
    if message.stop_reason == "refusal":
        raise Permanent("The model refuses to work on this paragraph.", error_class="MODEL_REFUSED")
    if message.stop_reason == "max_tokens":
        raise bad_answer("The answer was cut off at its longest.")
    text = "".join(block.text for block in message.content if block.type == "text")
    return ModelAnswer(text, usage.input_tokens, usage.output_tokens)
