"""The JSON lines that a child and its coordinator exchange on standard input and output.

A line is a message if it is a JSON object whose `type` is one of four; every other line is plain output. What calls
itself a message must be one: a usage of -5 or 1.5 tokens, a field that does not exist, a line that was cut, is refused
as a `ChildProtocolInvalid`. The child's own word can only lower what it may still spend, never raise it.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import DecodeError, Struct

from leasehold import canonical
from leasehold.errors import Misuse, PayloadInvalid, did_you_mean, shown
from leasehold.pipelines.agents.child.lines import OutputLine
from leasehold.pipelines.agents.limits import CALL_ID_MAX, OUTPUT_BYTES_MAX, PROGRESS_MAX, TOKENS_MAX
from leasehold.shapes import Shape

SCHEMA: Final = "leasehold.child@1"


class ChildProtocolInvalid(Misuse, code="URM_CHILD_PROTOCOL_INVALID"):
    """The child sent a message that breaks the protocol; it was stopped."""


class ChildUsage(Struct, frozen=True):
    """The child has used so many tokens since its last message of this kind."""

    tokens: int


class SolverCall(Struct, frozen=True):
    """The child asks for a call of the solver, and waits for the answer on its standard input."""

    id: str


class ChildProgress(Struct, frozen=True):
    """What the child is doing, for people."""

    text: str


class ChildResult(Struct, frozen=True):
    """What the child was started for."""

    output: Any


ChildMessage = ChildUsage | SolverCall | ChildProgress | ChildResult


class _Kind(Struct):
    type: str = ""


FIELDS: Final = {"usage": "tokens", "solver_call": "id", "progress": "text", "result": "output"}
_kind: Final = Shape[_Kind](_Kind)
_head: Final = re.compile(rb'\s*\{\s*"type"\s*:\s*"(usage|solver_call|progress|result)"')


def input_line(child_id: str, value: Any, budget: Mapping[str, Any]) -> bytes:
    """Return the one line that a child is sent first. The budget informs it; the parent's totals decide."""
    return _line({"schema": SCHEMA, "child_id": child_id, "input": value, "budget": dict(budget)})


def answer_line(call: SolverCall, *, granted: bool) -> bytes:
    return _line({"type": "solver_call", "id": call.id, "granted": granted})


def _line(message: dict[str, Any]) -> bytes:
    return canonical.encode(message, limit=2 * OUTPUT_BYTES_MAX).encode() + b"\n"


def parse_line(line: OutputLine) -> ChildMessage | None:
    """Return the message of a line, None for plain output, or raise `ChildProtocolInvalid`."""
    if line.cut:
        if _head.match(line.content):
            raise ChildProtocolInvalid(f"A message of {len(line.content) + line.cut:,} bytes is above the limit.")
        return None
    if not line.content.lstrip().startswith(b"{"):
        return None
    try:
        kind = _kind.decode(line.content).type
    except (DecodeError, RecursionError, UnicodeDecodeError):
        # Python's own encoder writes NaN, which is not JSON: silence would hide that the message was lost.
        kind = found[1].decode() if (found := _head.match(line.content)) else ""
    return _message(kind, line.content) if kind in FIELDS else None


def _message(kind: str, content: bytes) -> ChildMessage:
    try:
        fields = canonical.parse(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise ChildProtocolInvalid(f"A message '{kind}' is not UTF-8.") from None
    except PayloadInvalid as error:
        raise ChildProtocolInvalid(f"A message '{kind}': {error.detail}") from None
    own = FIELDS[kind]
    for name in fields:
        if name not in {"type", own}:
            raise ChildProtocolInvalid(f"A message '{kind}' has no field {shown(name)}.{did_you_mean(name, [own])}")
    if own not in fields:
        raise ChildProtocolInvalid(f"A message '{kind}' lacks '{own}'.")
    return _READ[kind](fields[own])


def checked_tokens(found: object) -> int:
    """Return a number of tokens that somebody reports, if it can be one."""
    if type(found) is not int or not 0 <= found <= TOKENS_MAX:
        raise ChildProtocolInvalid(f"Tokens are a whole number from 0 to {TOKENS_MAX:,}, not {shown(found)}.")
    return found


def _usage(found: object) -> ChildUsage:
    return ChildUsage(checked_tokens(found))


def _call(found: object) -> SolverCall:
    if not isinstance(found, str) or not 1 <= len(found) <= CALL_ID_MAX:
        raise ChildProtocolInvalid(f"The id of a call is text of 1 to {CALL_ID_MAX} characters, not {shown(found)}.")
    return SolverCall(found)


def _progress(found: object) -> ChildProgress:
    if not isinstance(found, str):
        raise ChildProtocolInvalid(f"The text of a progress is text, not {shown(found)}.")
    return ChildProgress(found[:PROGRESS_MAX])


_READ: Final[dict[str, Callable[[Any], ChildMessage]]] = {
    "usage": _usage,
    "solver_call": _call,
    "progress": _progress,
    "result": ChildResult,
}
