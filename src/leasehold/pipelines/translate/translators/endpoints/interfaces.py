"""The interfaces of model services: what a question and its answer look like on the wire.

OpenAI's (`POST {base}/chat/completions`), which most servers of models have too, gets the answer's shape as a JSON
schema where it knows them. Anthropic's (`POST {base}/v1/messages`) gets it as an instruction.
"""

from typing import Any

import msgspec

from leasehold import Permanent
from leasehold.pipelines.translate.translators.endpoints.endpoint import (
    BOUNDS,
    SHAPE,
    ExchangeLimits,
    ModelAnswer,
    ModelEndpoint,
    ModelQuestion,
    address_of,
    decoded,
)
from leasehold.pipelines.translate.translators.translator import TranslatorInvalid, bad_answer
from leasehold.shapes import Shape


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


class _Block(msgspec.Struct):
    type: str
    text: str = ""


class _Blocks(msgspec.Struct):
    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage | None = None


_completion = Shape[_Completion](_Completion)
_blocks = Shape[_Blocks](_Blocks)


class OpenAI(ModelEndpoint):
    kind = "openai"
    base = "https://api.openai.com/v1"
    variable = "OPENAI_API_KEY"
    path = "/chat/completions"
    optional = ("temperature", "max_tokens", BOUNDS, SHAPE)

    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.address.key}"} if self.address.key else {}

    def fields(self, question: ModelQuestion) -> dict[str, Any]:
        shape = {"name": "answer", "strict": True, "schema": question.schema}
        return {
            "model": self.address.model,
            "messages": [
                {"role": "system", "content": question.instructions},
                {"role": "user", "content": question.material},
            ],
            "temperature": 0,
            "max_tokens": question.tokens_max,
            SHAPE: {"type": "json_schema", "json_schema": shape},
        }

    def answer(self, body: str) -> ModelAnswer:
        completion = decoded(body, _completion)
        choice = completion.choices[0] if completion.choices else _Choice(_Message())
        usage = completion.usage or _Usage()
        _check_end(
            is_refused=bool(choice.message.refusal) or choice.finish_reason == "content_filter",
            is_cut_off=choice.finish_reason == "length",
        )
        return ModelAnswer(choice.message.content or "", usage.prompt_tokens, usage.completion_tokens)


class Anthropic(ModelEndpoint):
    kind = "anthropic"
    base = "https://api.anthropic.com"
    variable = "ANTHROPIC_API_KEY"
    path = "/v1/messages"
    optional = ("temperature",)

    def headers(self) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01"} | ({"x-api-key": self.address.key} if self.address.key else {})

    def fields(self, question: ModelQuestion) -> dict[str, Any]:
        shape = msgspec.json.encode(question.schema).decode()
        return {
            "model": self.address.model,
            "max_tokens": question.tokens_max,
            "temperature": 0,
            "system": f"{question.instructions}\nThe JSON schema of the answer: {shape}",
            "messages": [{"role": "user", "content": question.material}],
        }

    def answer(self, body: str) -> ModelAnswer:
        message = decoded(body, _blocks)
        usage = message.usage or _Usage()
        _check_end(is_refused=message.stop_reason == "refusal", is_cut_off=message.stop_reason == "max_tokens")
        text = "".join(block.text for block in message.content if block.type == "text")
        return ModelAnswer(text, usage.input_tokens, usage.output_tokens)


def _check_end(*, is_refused: bool, is_cut_off: bool) -> None:
    if is_refused:
        raise Permanent("The model refuses to work on this paragraph.", error_class="MODEL_REFUSED")
    if is_cut_off:
        raise bad_answer("The answer was cut off at its longest.")


def make_endpoint(spec: str, limits: ExchangeLimits | None = None) -> ModelEndpoint:
    """Return the endpoint of a name: openai:MODEL[@BASE] or anthropic:MODEL[@BASE], BASE as in https://host/v1."""
    kind, _, rest = spec.partition(":")
    model, _, base = rest.partition("@")
    for interface in (OpenAI, Anthropic):
        if kind == interface.kind:
            return interface(address_of(model, base, interface.base, interface.variable), limits)
    raise TranslatorInvalid(f"{spec[:80]!r} is none of these.")
