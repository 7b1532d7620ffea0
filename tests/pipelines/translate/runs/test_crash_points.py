"""Kills at the places that are marked in the code: what is found afterwards, and what the next one does with it."""

import signal
import subprocess
import sys
from pathlib import Path

from leasehold.pipelines.translate.folder import RunFolder, write_whole
from leasehold.pipelines.translate.translators.answer_log import AnswerLog
from tests.support.processes.fork_server import ROOT

# A process that is killed when it comes to an act, which Python audits before it is done.
DYING = """
import os, signal, sys
from pathlib import Path
sys.addaudithook(lambda event, _: os.kill(os.getpid(), signal.SIGKILL) if event == sys.argv[1] else None)
"""


def died(event, act, path):
    words = [sys.executable, "-c", DYING + act, event, str(path)]
    return subprocess.run(words, cwd=ROOT, timeout=60, check=False).returncode == -signal.SIGKILL


def test_the_previous_file_stays_with_a_leftover_next_to_it_that_the_next_start_removes(tmp_path):
    path = tmp_path / "state" / "rows.jsonl"
    write_whole(path, b"before")
    act = "from leasehold.pipelines.translate.folder import write_whole\nwrite_whole(Path(sys.argv[2]), b'after')"
    assert died("os.rename", act, path)
    assert path.read_bytes() == b"before"
    (leftover,) = set(path.parent.iterdir()) - {path}
    assert leftover.read_bytes() == b"after"
    RunFolder(tmp_path).sweep()
    assert list(path.parent.iterdir()) == [path]


def test_the_answer_is_lost_and_the_translator_is_asked_a_second_time(tmp_path):
    path = tmp_path / "answers.jsonl"
    act = (
        "from leasehold.pipelines.translate.translators.answer_log import AnswerLog\n"
        "asked = lambda: Path(sys.argv[2] + '.asked').touch() or {'text': 'first'}\n"
        "AnswerLog(Path(sys.argv[2])).keep('key', asked)"
    )
    assert died("fcntl.flock", act, path)
    assert Path(f"{path}.asked").exists()
    answers = AnswerLog(path)
    assert answers.find("key") is None
    assert answers.keep("key", lambda: {"text": "second"}) == answers.find("key") == {"text": "second"}
