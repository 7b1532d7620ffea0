"""The interface that OpenAI's service and most servers of models speak: `POST {base}/chat/completions`.

The answer's shape is asked for by a JSON schema where the endpoint knows them, and by instruction in any case.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from leasehold import Permanent
from leasehold.pipelines.translate.translators.endpoints.endpoint import Answer, Place, Question, decoded, keyless
from leasehold.pipelines.translate.translators.endpoints.http import Limits, Wire
from leasehold.pipelines.translate.translators.endpoints.unsupported_fields import (
    ASKED_MAX,
    BOUNDS,
    REFUSED,
    SHAPE,
    Concessions,
    without,
)
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

    def __init__(self, place: Place, limits: Limits | None = None) -> None:
        self.name = f"openai:{place.model}"
        self._place = place
        self._wire = Wire(place, limits)
        self._concessions = Concessions("temperature", "max_tokens", BOUNDS, SHAPE)

    def ask(self, question: Question) -> Answer:
        """Return the answer's text; it is whole, but what it says is for the caller to check."""
        headers = {"authorization": f"Bearer {self._place.key}"} if self._place.key else {}
        for _ in range(ASKED_MAX):
            given_up = self._concessions.given_up
            body = msgspec.json.encode(without(self._wanted(question), given_up))
            reply = self._wire.post("/chat/completions", headers, body)
            if reply.status == 200:  # noqa: PLR2004
                return keyless(self._place, _answer(decoded(reply.body.decode("utf-8", "replace"), _completion)))
            if reply.status not in REFUSED or not self._concessions.concede(reply.words, given_up):
                break
        raise self._wire.refuse(reply)

    def _wanted(self, question: Question) -> dict[str, Any]:
        shape = {"name": "answer", "strict": True, "schema": question.schema}
        return {
            "model": self._place.model,
            "messages": [
                {"role": "system", "content": question.instructions},
                {"role": "user", "content": question.material},
            ],
            "temperature": 0,
            "max_tokens": question.tokens_max,
            SHAPE: {"type": "json_schema", "json_schema": shape},
        }


def _answer(completion: _Completion) -> Answer:
    choice = completion.choices[0] if completion.choices else _Choice(_Message())
    usage = completion.usage or _Usage()
    if choice.message.refusal or choice.finish_reason == "content_filter":
        raise Permanent("The model refuses to work on this paragraph.", error_class="MODEL_REFUSED")
    if choice.finish_reason == "length":
        raise bad_answer("The answer was cut off at its longest.")
    return Answer(choice.message.content or "", usage.prompt_tokens, usage.completion_tokens)
