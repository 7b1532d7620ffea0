"""Transcripts of known programs, written from their public documentation: the real programs were not run."""

import json
from typing import Any

import pytest

from leasehold.pipelines.agents.child.lines import OutputLine
from leasehold.pipelines.agents.child.protocol import ChildProgress, ChildProtocolInvalid, ChildResult, ChildUsage
from leasehold.pipelines.agents.child.supervisor import ChildCallbacks, ChildConversation
from leasehold.pipelines.agents.child.transcripts import AgentTranscript, TranscriptOutcome
from tests.pipelines.agents.child.children import accept, python, supervise

CODEX: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "t-1"},
    {"type": "turn.started"},
    {
        "type": "item.started",
        "item": {"id": "item_0", "type": "command_execution", "command": "ls", "status": "in_progress"},
    },
    {"type": "item.completed", "item": {"id": "item_0", "type": "command_execution", "command": "ls", "exit_code": 0}},
    {"type": "item.completed", "item": {"id": "item_1", "type": "reasoning", "text": "thinking"}},
    {"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": "Two files."}},
    {"type": "turn.completed", "usage": {"input_tokens": 900, "cached_input_tokens": 800, "output_tokens": 30}},
]
FIRST = {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 100}
SECOND = {"input_tokens": 4, "output_tokens": 6, "cache_creation_input_tokens": 50}
TOTAL = {"input_tokens": 7, "output_tokens": 20, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 50}


def assistant(name: str, usage: dict[str, int], part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "assistant", "message": {"id": name, "content": [part], "usage": usage}}


CLAUDE: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "session_id": "s-1", "tools": [], "model": "m"},
    assistant("m1", FIRST, {"type": "text", "text": "Looking."}),
    assistant("m1", FIRST, {"type": "tool_use", "id": "u1", "name": "Bash", "input": {}}),
    {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "u1", "content": "a b"}]}},
    assistant("m2", SECOND, {"type": "text", "text": "Two files."}),
    {"type": "result", "subtype": "success", "is_error": False, "result": "Two files.", "usage": TOTAL},
]


def read(events):
    transcript = AgentTranscript()
    lines = [json.dumps(event).encode() if isinstance(event, dict) else event for event in events]
    messages = [message for line in lines for message in transcript(OutputLine(line))]
    return messages, transcript.outcome()


def tokens(messages):
    return sum(message.tokens for message in messages if isinstance(message, ChildUsage))


def test_codex_reports_tokens_progress_and_its_last_message():
    messages, outcome = read(CODEX)
    assert messages == [ChildProgress("ls"), ChildProgress("Two files."), ChildUsage(930)]
    assert outcome == TranscriptOutcome("codex", "Two files.")


def test_codex_totals_of_later_turns_are_counted_once():
    turn = [{"type": "turn.started"}, {"type": "turn.completed", "usage": {"input_tokens": 1000, "output_tokens": 70}}]
    assert tokens(read([*CODEX, *turn])[0]) == 1070
    smaller = [{"type": "turn.started"}, {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 7}}]
    assert tokens(read([*CODEX, *smaller])[0]) == 947


def test_codex_fails_by_a_failed_turn_and_not_by_an_error_that_it_recovered_from():
    failed = {"type": "turn.failed", "error": {"message": "quota exceeded"}}
    assert read([*CODEX[:-1], failed])[1] == TranscriptOutcome("codex", "Two files.", "quota exceeded")
    error = {"type": "error", "message": "reconnecting"}
    assert read([*CODEX[:3], error, *CODEX[3:]])[1] == TranscriptOutcome("codex", "Two files.")
    assert read([*CODEX[:3], error])[1] == TranscriptOutcome("codex", "", "reconnecting")
    assert read(CODEX[:-1])[1] == TranscriptOutcome("codex", "Two files.", "It ended before its turn was complete.")


def test_codex_messages_of_the_older_shape_are_read():
    old = {"type": "item.completed", "item": {"id": "item_2", "item_type": "assistant_message", "text": "Old."}}
    assert read([*CODEX[:2], old, CODEX[-1]])[1] == TranscriptOutcome("codex", "Old.")


def test_claude_counts_each_message_once_and_the_rest_with_the_result():
    messages, outcome = read(CLAUDE)
    assert [message for message in messages if isinstance(message, ChildUsage)] == [
        ChildUsage(108),
        ChildUsage(60),
        ChildUsage(9),
    ]
    assert [message.text for message in messages if isinstance(message, ChildProgress)] == [
        "Looking.",
        "Bash",
        "Two files.",
    ]
    assert outcome == TranscriptOutcome("claude", "Two files.")


def test_claude_usage_by_model_is_counted_if_it_is_larger():
    models = {"a": {"inputTokens": 500, "outputTokens": 5}, "b": {"inputTokens": 100, "cacheReadInputTokens": 9}}
    assert tokens(read([*CLAUDE[:-1], {**CLAUDE[-1], "modelUsage": models}])[0]) == 614


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ({"subtype": "error_max_turns", "is_error": False}, "Two files."),
        ({"subtype": "success", "is_error": True, "result": "Credit balance is too low"}, "Credit balance is too low"),
        ({"subtype": "error_during_execution", "is_error": True, "errors": ["it broke"]}, "it broke"),
    ],
)
def test_claude_errors_are_errors_whatever_the_exit_code_is(result, error):
    outcome = read([*CLAUDE[:-1], {"type": "result", **result}])[1]
    assert outcome is not None
    assert outcome.error == error


def test_claude_without_a_result_is_a_failure_and_an_empty_result_is_the_last_message():
    outcome = read(CLAUDE[:-1])[1]
    assert outcome == TranscriptOutcome("claude", "Two files.", "It ended without a result.")
    assert read([*CLAUDE[:-1], {**CLAUDE[-1], "result": ""}])[1] == TranscriptOutcome("claude", "Two files.")


@pytest.mark.parametrize("lie", [-1, 1.5, True, "7", 10**10])
@pytest.mark.parametrize("events", [CODEX, CLAUDE])
def test_a_program_that_lies_about_tokens_is_refused(events, lie):
    usage = {"input_tokens": lie, "output_tokens": 1}
    with pytest.raises(ChildProtocolInvalid):
        read([*events[:-1], {**events[-1], "usage": usage}])


def test_damaged_and_unknown_lines_of_a_transcript_are_passed_over():
    odd = [
        b"\xff",
        b"{",
        b"[1]",
        b'{"type":"stream_event"}',
        b'{"type":5}',
        b'{"type":"assistant","message":[]}',
        b"{" * 5000,
    ]
    for events in (CODEX, CLAUDE):
        clean = read(events)
        assert read([events[0], *odd, *events[1:], *odd]) == clean


def test_a_child_that_opens_with_no_transcript_is_read_by_the_protocol():
    messages, outcome = read([b"hello", {"type": "usage", "tokens": 4}, {"type": "result", "output": 1}])
    assert (messages, outcome) == ([ChildUsage(4), ChildResult(1)], None)


def test_memory_does_not_grow_with_the_number_of_messages():
    transcript = AgentTranscript()
    transcript(OutputLine(json.dumps(CLAUDE[0]).encode()))
    for number in range(5000):
        message = {"id": f"m{number}", "content": [], "usage": {"input_tokens": 1}}
        transcript(OutputLine(json.dumps({"type": "assistant", "message": message}).encode()))
    assert len(transcript._program._counted) <= 1000  # type: ignore[union-attr]  # noqa: SLF001


@pytest.mark.parametrize(("events", "expected"), [(CODEX, 930), (CLAUDE, 177)])
def test_the_tokens_of_a_real_process_reach_the_budget(events, expected):
    spent: list[int] = []
    transcript = AgentTranscript()
    text = f"import json\nfor event in json.loads({json.dumps(json.dumps(events))}): print(json.dumps(event))"
    callbacks = ChildCallbacks(on_usage=accept(spent))
    end = supervise(python(text), ChildConversation(parser=transcript, callbacks=callbacks))
    assert (sum(spent), end.tokens, end.is_success) == (expected, expected, True)
