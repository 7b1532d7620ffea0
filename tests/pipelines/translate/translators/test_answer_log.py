"""The file of answers: what was written is found again, whatever else is in it and while others write to it."""

import json
import subprocess
import sys

import pytest

from leasehold.pipelines.translate.translators.answer_log import AnswerLog
from tests.support.processes.fork_server import ROOT

EACH = 200
WRITERS = 4
WRITER = """
import sys
from pathlib import Path
from leasehold.pipelines.translate.translators.answer_log import AnswerLog
answers, name = AnswerLog(Path(sys.argv[1])), sys.argv[2]
for number in range(int(sys.argv[3])):
    answers.keep(f"{name}-{number}", lambda: {"text": f"{name} {number} " + "ä" * 3000})
"""


@pytest.fixture
def answers(tmp_path):
    return AnswerLog(tmp_path / "answers.jsonl")


def never():
    raise AssertionError("asked")


def test_an_answer_is_found_by_its_key_and_by_no_other(answers):
    assert answers.find("a") is None
    assert answers.keep("a", lambda: {"text": "uno\n«dos» 🏠"}) == {"text": "uno\n«dos» 🏠"}
    answers.keep("ab", lambda: {"text": "other, which names a"})
    assert answers.find("a") == {"text": "uno\n«dos» 🏠"}
    assert answers.find("ab") == {"text": "other, which names a"}
    assert answers.find("b") is None
    assert answers.path.stat().st_mode & 0o777 == 0o600
    assert len(answers.path.read_text().splitlines()) == 2


def test_a_translator_that_fails_puts_nothing_down(answers):
    with pytest.raises(AssertionError, match="asked"):
        answers.keep("a", never)
    assert not answers.path.exists()


@pytest.mark.parametrize(
    "torn",
    [
        b'{"key":"a","ans',
        b'{"key":"a","answer":{"text":"half',
        b'{"key":"a","answer":{"text":"\xc3',
        b"\0\0\0\0\0\0\0\0",
        b"\n\n",
    ],
)
def test_a_torn_line_is_passed_over_and_the_next_answer_begins_a_new_one(answers, torn):
    answers.keep("before", lambda: {"text": "b"})
    with answers.path.open("ab") as file:
        file.write(torn)
    assert answers.find("a") is None
    answers.keep("after", lambda: {"text": "c"})
    assert (answers.find("before"), answers.find("after")) == ({"text": "b"}, {"text": "c"})
    assert answers.find("a") is None


@pytest.mark.parametrize(
    "line",
    [
        b"a",
        b'["a", {"answer": {}}]',
        b'{"key": "a"}',
        b'{"key": "a", "answer": "text"}',
        b'{"key": "a", "answer": null}',
        b'{"key": ["a"], "answer": {}}',
        b'{"key": "a", "answer": ' + b"[" * 100_000,
    ],
)
def test_a_line_that_is_not_an_answer_is_passed_over(answers, line):
    answers.path.write_bytes(line + b"\n")
    assert answers.find("a") is None
    answers.keep("a", lambda: {"text": "t"})
    assert answers.find("a") == {"text": "t"}


def test_answers_that_processes_put_down_at_once_stand_each_in_a_line_of_its_own(answers):
    words = [sys.executable, "-c", WRITER, str(answers.path)]
    writers = [subprocess.Popen([*words, f"w{number}", str(EACH)], cwd=ROOT) for number in range(WRITERS)]
    assert [writer.wait(timeout=60) for writer in writers] == [0] * WRITERS
    lines = [json.loads(line) for line in answers.path.read_bytes().splitlines()]
    assert len(lines) == WRITERS * EACH
    assert {line["key"] for line in lines} == {f"w{one}-{number}" for one in range(WRITERS) for number in range(EACH)}
    assert all(line["answer"]["text"].startswith(line["key"].replace("-", " ")) for line in lines)
