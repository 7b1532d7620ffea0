"""Lines of a child become messages, plain output, or a refusal; nothing that lies is counted."""

import json
import tracemalloc

import pytest

from leasehold.pipelines.agents.child.lines import LineSplitter, OutputLine
from leasehold.pipelines.agents.child.protocol import (
    ChildProgress,
    ChildProtocolInvalid,
    ChildResult,
    ChildUsage,
    SolverCall,
    answer_line,
    input_line,
    parse_line,
)

MESSAGES = {
    '{"type":"usage","tokens":12}': ChildUsage(12),
    '  {"tokens":0,"type":"usage"}\r': ChildUsage(0),
    '{"type":"solver_call","id":"1"}': SolverCall("1"),
    '{"type":"progress","text":"half"}': ChildProgress("half"),
    '{"type":"result","output":{"a":[1,null]}}': ChildResult({"a": [1, None]}),
    '{"type":"result","output":null}': ChildResult(None),
}
PLAIN = [
    b"",
    b"hello",
    b"{",
    b"{not json}",
    b"[1]",
    b'"usage"',
    b'{"a":1}',
    b'{"type":7}',
    b'{"type":"other","tokens":-1}',
    b"\xff\xfe",
    b'{"type":"usage\x00","tokens":1}',
    b'{"a":' * 5000,
    b'{"a":"\xff"}',
]
LIES = [
    b'{"type":"usage","tokens":1}\x00',
    b'{"type":"result","output":',
    b'{"type":"usage","tokens":-1}',
    b'{"type":"usage","tokens":1.5}',
    b'{"type":"usage","tokens":1.0}',
    b'{"type":"usage","tokens":1e3}',
    b'{"type":"usage","tokens":true}',
    b'{"type":"usage","tokens":"12"}',
    b'{"type":"usage","tokens":null}',
    b'{"type":"usage","tokens":1000000001}',
    b'{"type":"usage","tokens":99999999999999999999999}',
    b'{"type":"usage","tokens":NaN}',
    b'{"type":"usage"}',
    b'{"type":"usage","token":1}',
    b'{"type":"usage","tokens":1,"tokens":2}',
    b'{"type":"usage","tokens":1,"more":2}',
    b'{"type":"solver_call","id":1}',
    b'{"type":"solver_call","id":""}',
    b'{"type":"solver_call","id":"' + b"x" * 129 + b'"}',
    b'{"type":"progress","text":7}',
    b'{"type":"progress","text":"\\u0000"}',
    b'{"type":"progress","text":"\xff"}',
    b'{"type":"progress","text":"\\ud800"}',
    b'{"type":"result"}',
    b'{"type":"result","output":' + b"[" * 100 + b"]" * 100 + b"}",
]


@pytest.mark.parametrize("text", MESSAGES)
def test_a_message_is_read_into_its_type(text):
    assert parse_line(OutputLine(text.encode())) == MESSAGES[text]


@pytest.mark.parametrize("content", PLAIN)
def test_a_line_that_is_no_message_is_plain_output(content):
    assert parse_line(OutputLine(content)) is None


@pytest.mark.parametrize("content", LIES)
def test_a_message_that_lies_or_is_malformed_is_refused(content):
    with pytest.raises(ChildProtocolInvalid) as refused:
        parse_line(OutputLine(content))
    assert refused.value.code == "URM_CHILD_PROTOCOL_INVALID"


def test_a_message_that_was_cut_is_refused_and_other_cut_lines_are_plain_output():
    with pytest.raises(ChildProtocolInvalid, match="above the limit"):
        parse_line(OutputLine(b'{"type":"result","output":"xx', 10_000_000))
    assert parse_line(OutputLine(b"x" * 50, 10_000_000)) is None


def test_a_long_progress_is_cut():
    message = parse_line(OutputLine(json.dumps({"type": "progress", "text": "x" * 100_000}).encode()))
    assert message == ChildProgress("x" * 2_000)


def test_the_child_is_sent_one_line_and_answers_of_one_line():
    line = input_line("child-1", {"prompt": "a\nb"}, {"tokens": 5})
    assert line.count(b"\n") == 1
    assert json.loads(line) == {
        "schema": "leasehold.child@1",
        "child_id": "child-1",
        "input": {"prompt": "a\nb"},
        "budget": {"tokens": 5},
    }
    answer = answer_line(SolverCall("a\nb"), granted=False)
    assert json.loads(answer) == {"type": "solver_call", "id": "a\nb", "granted": False}
    assert answer.count(b"\n") == 1


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_are_the_same_however_the_output_is_chunked(size):
    text = b"one\n\ntwo\r\n\xff\x00\nlast"
    splitter = LineSplitter()
    chunks = [text[start : start + size] for start in range(0, len(text), size)]
    lines = [line for chunk in chunks for line in splitter.feed(chunk)] + list(splitter.end())
    assert [line.content for line in lines] == text.split(b"\n")


@pytest.mark.parametrize("size", [1, 3, 10, 64, 1000])
def test_no_object_is_left_out_with_the_plain_lines(size):
    plain, message = b"plain words\n" * 9, b' {"type":"usage","tokens":1}\n'
    text = plain + message + plain + b"x" * 90 + b"\n" + message + message + b"y" * 90 + b"\n" + plain + message[:-1]
    splitter = LineSplitter(limit=80, only_objects=True)
    chunks = [text[start : start + size] for start in range(0, len(text), size)]
    lines = [line for chunk in chunks for line in splitter.feed(chunk)] + list(splitter.end())
    assert [line for line in lines if b"{" in line.content] == [OutputLine(message[:-1])] * 4
    assert sum(line.cut for line in lines) == 20


def test_a_line_of_one_gigabyte_takes_no_more_memory_than_the_limit():
    splitter = LineSplitter(limit=100_000)
    chunk = b"x" * 1_000_000
    tracemalloc.start()
    try:
        found = [line for _ in range(1000) for line in splitter.feed(chunk)]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == []
    [line] = splitter.feed(b"\n")
    assert (len(line.content), line.cut) == (100_000, 999_900_000)
    assert peak < 5_000_000
