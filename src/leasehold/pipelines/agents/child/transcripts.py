"""Reads what two known programs print as JSON lines: `codex exec --json`, `claude -p --output-format stream-json`.

Written from what is publicly documented; the real programs were not run. Unknown lines and fields are passed over,
because both programs add to them. What each reading assumes:

- codex: the usage of a completed turn is the total of the thread so far; a smaller one must be of its turn alone and
  is added. If every usage is of its turn alone, a run of several growing turns is counted too low. Cached input is
  part of the input. Only a failed turn, or none that completed, is a failure.
- claude: each message is counted once, though it is printed once for each part of its content. The result at the end
  has the total, and what is missing from the sum is added then. Cached input comes on top of the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from msgspec import DecodeError, Struct, json

from leasehold.pipelines.agents.child.lines import OutputLine
from leasehold.pipelines.agents.child.protocol import (
    ChildMessage,
    ChildProgress,
    ChildUsage,
    checked_tokens,
    parse_line,
)
from leasehold.pipelines.agents.limits import MESSAGE_IDS_MAX, PROGRESS_MAX, RESULT_TEXT_MAX

Fields = dict[str, Any]
CODEX_TOKENS: Final = ("input_tokens", "output_tokens")
CLAUDE_TOKENS: Final = (*CODEX_TOKENS, "cache_creation_input_tokens", "cache_read_input_tokens")
CLAUDE_MODEL_TOKENS: Final = ("inputTokens", "outputTokens", "cacheCreationInputTokens", "cacheReadInputTokens")


class TranscriptOutcome(Struct, frozen=True):
    """What a transcript ended with: the program's answer, or why there is none. An answer may come with an error."""

    program: str
    text: str = ""
    error: str = ""


class AgentTranscript:
    """Reads the lines of a child: by the transcript of a known program if it opens with one, else by the protocol."""

    def __init__(self) -> None:
        self._program: _Program | None = None

    def __call__(self, line: OutputLine) -> Sequence[ChildMessage]:
        fields = _fields(line)
        if self._program is None:
            self._program = _recognise(fields)
        if self._program is not None:
            return self._program.read(fields)
        message = parse_line(line)
        return () if message is None else (message,)

    def outcome(self) -> TranscriptOutcome | None:
        """Return what the program ended with; None for a child that printed no known transcript."""
        return None if self._program is None else self._program.outcome()


class _Program(Protocol):
    def read(self, fields: Fields) -> Sequence[ChildMessage]: ...

    def outcome(self) -> TranscriptOutcome: ...


def _recognise(fields: Fields) -> _Program | None:
    match fields:
        case {"type": "thread.started", "thread_id": str()}:
            return _Codex()
        case {"type": "system", "subtype": "init"}:
            return _Claude()
    return None


class _Codex:
    def __init__(self) -> None:
        self._total = 0
        self._text = ""
        self._error = ""
        self._is_complete = False

    def read(self, fields: Fields) -> Sequence[ChildMessage]:
        match fields:
            case {"type": "turn.started"}:
                self._is_complete, self._error = False, ""
            case {"type": "turn.completed"}:
                self._is_complete, self._error = True, ""
                return self._usage(fields)
            case {"type": "turn.failed"}:
                self._is_complete, self._error = False, _message(fields.get("error")) or "The turn failed."
                return self._usage(fields)
            case {"type": "error"}:
                self._error = self._error or _message(fields)
            case {"type": "item.completed", "item": dict(item)}:
                return self._item(item)
        return ()

    def _usage(self, fields: Fields) -> Sequence[ChildMessage]:
        total = _tokens(fields.get("usage"), CODEX_TOKENS)
        more = total - self._total if total >= self._total else total
        self._total = max(self._total, total)
        return _used(more)

    def _item(self, item: Fields) -> Sequence[ChildMessage]:
        match item.get("type", item.get("item_type")), item:
            case (("agent_message" | "assistant_message"), {"text": str(text)}):
                self._text = text[:RESULT_TEXT_MAX]
                return _progress(text)
            case "command_execution", {"command": str(command)}:
                return _progress(command)
        return ()

    def outcome(self) -> TranscriptOutcome:
        missing = "" if self._is_complete else "It ended before its turn was complete."
        return TranscriptOutcome("codex", self._text, "" if self._is_complete else self._error or missing)


class _Claude:
    def __init__(self) -> None:
        self._counted: dict[str, int] = {}
        self._total = 0
        self._text = ""
        self._error = "It ended without a result."

    def read(self, fields: Fields) -> Sequence[ChildMessage]:
        match fields:
            case {"type": "assistant", "message": dict(message)}:
                return (*self._usage(message), *self._content(message.get("content")))
            case {"type": "result"}:
                return self._result(fields)
        return ()

    def _usage(self, message: Fields) -> Sequence[ChildMessage]:
        """Count a message once; each part of it repeats its usage, and the last may be larger."""
        tokens = _tokens(message.get("usage"), CLAUDE_TOKENS)
        name = str(message.get("id", ""))[:PROGRESS_MAX]
        before = self._counted.pop(name, 0) if name else 0
        self._counted[name] = max(before, tokens)
        if len(self._counted) > MESSAGE_IDS_MAX:
            del self._counted[next(iter(self._counted))]
        more = max(0, tokens - before)
        self._total += more
        return _used(more)

    def _content(self, parts: object) -> Sequence[ChildMessage]:
        found: list[ChildMessage] = []
        for part in parts if isinstance(parts, list) else ():
            match part:
                case {"type": "text", "text": str(text)}:
                    self._text = text[:RESULT_TEXT_MAX]
                    found.extend(_progress(text))
                case {"type": "tool_use", "name": str(name)}:
                    found.extend(_progress(name))
        return found

    def _result(self, fields: Fields) -> Sequence[ChildMessage]:
        text = fields.get("result")
        if isinstance(text, str) and text:
            self._text = text[:RESULT_TEXT_MAX]
        subtype = str(fields.get("subtype", ""))
        is_error = fields.get("is_error") is True or subtype.startswith("error")
        self._error = (_message(fields) or self._text or subtype or "It failed.") if is_error else ""
        models = fields.get("modelUsage")
        by_model = sum(_tokens(one, CLAUDE_MODEL_TOKENS) for one in models.values()) if isinstance(models, dict) else 0
        more = max(0, _tokens(fields.get("usage"), CLAUDE_TOKENS) - self._total, by_model - self._total)
        self._total += more
        return _used(more)

    def outcome(self) -> TranscriptOutcome:
        return TranscriptOutcome("claude", self._text, self._error)


def _fields(line: OutputLine) -> Fields:
    """Return the object of a line; an empty one for everything else, also for a line that was cut."""
    if line.cut or not line.content.lstrip().startswith(b"{"):
        return {}
    try:
        found = json.decode(line.content)
    except (DecodeError, RecursionError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _tokens(usage: object, names: Sequence[str]) -> int:
    """Return the sum of some fields; what is there must be a number of tokens."""
    if not isinstance(usage, dict):
        return 0
    return sum(checked_tokens(usage[name]) for name in names if usage.get(name) is not None)


def _used(tokens: int) -> Sequence[ChildMessage]:
    return (ChildUsage(tokens),) if tokens else ()


def _progress(text: str) -> Sequence[ChildMessage]:
    return (ChildProgress(text[:PROGRESS_MAX]),) if text.strip() else ()


def _message(fields: object) -> str:
    match fields:
        case {"message": str(text)}:
            return text[:PROGRESS_MAX]
        case {"errors": [str(text), *_]}:
            return text[:PROGRESS_MAX]
    return ""
