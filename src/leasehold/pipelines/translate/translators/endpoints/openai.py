"""The interface of OpenAI's service and of most servers of models: `POST {base}/chat/completions`.

The answer's shape is asked for by a JSON schema where the endpoint knows them, and by instruction in any case.
"""

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
from leasehold.pipelines.translate.translators.endpoints.unsupported_fields import BOUNDS, SHAPE, UnsupportedFields
from leasehold.pipelines.translate.translators.translator import bad_answer
from leasehold.shapes import Shape

BASE: Final = "https://api.openai.com/v1"
VARIABLE: Final = "OPENAI_API_KEY"


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


_completion: Final = Shape[_Completion](_Completion)


class OpenAI:
    """A model behind an OpenAI-compatible endpoint."""

    def __init__(self, address: ModelAddress, limits: ExchangeLimits | None = None) -> None:
        self.name = f"openai:{address.model}"
        self._address = address
        self._client = EndpointClient(address, limits)
        self._unsupported = UnsupportedFields("temperature", "max_tokens", BOUNDS, SHAPE)

    def ask(self, question: ModelQuestion) -> ModelAnswer:
        """Return the complete text of the answer; the caller checks what it holds."""
        headers = {"authorization": f"Bearer {self._address.key}"} if self._address.key else {}
        body = self._client.ask("/chat/completions", headers, self._fields(question), self._unsupported)
        return keyless(self._address, _answer(decoded(body, _completion)))

    def _fields(self, question: ModelQuestion) -> dict[str, Any]:
        shape = {"name": "answer", "strict": True, "schema": question.schema}
        return {
            "model": self._address.model,
            "messages": [
                {"role": "system", "content": question.instructions},
                {"role": "user", "content": question.material},
            ],
            "temperature": 0,
            "max_tokens": question.tokens_max,
            SHAPE: {"type": "json_schema", "json_schema": shape},
        }


def _answer(completion: _Completion) -> ModelAnswer:
    choice = completion.choices[0] if completion.choices else _Choice(_Message())
    usage = completion.usage or _Usage()
    if choice.message.refusal or choice.finish_reason == "content_filter":
        raise Permanent("The model refuses to work on this paragraph.", error_class="MODEL_REFUSED")
    if choice.finish_reason == "length":
        raise bad_answer("The answer was cut off at its longest.")
    return ModelAnswer(choice.message.content or "", usage.prompt_tokens, usage.completion_tokens)
