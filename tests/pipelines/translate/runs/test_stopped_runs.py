"""Runs that are stopped, started twice, or lose their lock: who may go on does, and nobody else changes anything."""

import json
import signal
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.pipelines.translate.workspace import (
    DOOR,
    HOUSE,
    SHY,
    TABLE,
    Workspace,
    answer_to,
    endpoint,
    requested_text,
    spanish,
    traces,
    until_asked,
)
from tests.support.wait import until

ALL = (HOUSE, TABLE, DOOR)


@contextmanager
def slow(workspace, *held):
    """An endpoint that keeps these paragraphs waiting until the event is set; or until the test is over."""
    go = threading.Event()

    def answer(asked):
        text = requested_text(asked)
        return replace(answer_to(text), after=go) if text in held else answer_to(text)

    with endpoint(workspace, answer) as server:
        try:
            yield server, go
        finally:
            go.set()


def lock(workspace, *, age_seconds):
    """Write a lock of another's, with a heartbeat so old; return its bytes. It takes the place of what is there."""
    at = (datetime.now(UTC) - timedelta(seconds=age_seconds)).isoformat(timespec="seconds").replace("+00:00", "Z")
    fields = {"pid": 4711, "host": "elsewhere", "started_at": at, "last_heartbeat_at": at, "run_id": "story-en-es"}
    workspace.run_folder.mkdir(parents=True, exist_ok=True)
    new = workspace.run_folder / "lock-of-another"
    new.write_text(json.dumps(fields, indent=2))
    new.replace(workspace.run_folder / "RUNNING.lock")
    return (workspace.run_folder / "RUNNING.lock").read_bytes()


def test_a_run_that_is_asked_to_stop_ends_cleanly_and_continues_where_it_was(database, tmp_path):
    workspace = Workspace(tmp_path, database)
    workspace.write(*ALL)
    with slow(workspace, TABLE) as (server, go):
        with workspace.process("--parallel", "1") as command:
            until_asked(server, command, 2)
            command.signal(signal.SIGINT)
            assert command.end() == 128 + signal.SIGINT, command.log
        assert "Stopped: " in command.log
        assert "Run the same command again to resume." in command.log
        assert not (workspace.run_folder / "RUNNING.lock").exists()
        assert workspace.status() == ["approved", "ingested", "ingested"]
        assert len(workspace.answers()) == 1
        go.set()
        answer = workspace.translate()
    assert answer.exit_code == 0, answer.output
    assert workspace.final() == [spanish(text) for text in ALL]
    # Nobody waited for the answer about the paragraph in hand: that one alone is asked for again.
    assert sorted(requested_text(asked) for asked in server.asked) == sorted([*ALL, TABLE])
    assert len(workspace.answers()) == 3


def test_of_two_starts_at_once_one_runs_and_the_other_reports_that(workspace):
    workspace.write(*ALL)
    with slow(workspace, *ALL) as (server, go), workspace.process(log="a") as one, workspace.process(log="b") as two:
        until(lambda: not one.running or not two.running)
        loser, winner = (two, one) if one.running else (one, two)
        assert loser.end() == 2, loser.log
        lock = workspace.run_folder / "RUNNING.lock"
        assert loser.log.startswith(f"Run already active: fresh RUNNING.lock exists at {lock}")
        until_asked(server, winner, 3)
        assert winner.running
        for words in (("approve", "1"), ("reject", "1", "--note", "n"), ("project",)):
            refused = workspace.about(*words)
            assert (refused.exit_code, refused.stdout) == (2, "")
            assert refused.stderr.startswith("Run already active: fresh RUNNING.lock exists")
        assert workspace.status() == ["ingested"] * 3  # reading is allowed
        go.set()
        assert winner.end() == 0, winner.log
    assert len(server.asked) == len(workspace.answers()) == 3
    assert workspace.final() == [spanish(text) for text in ALL]


def test_a_stale_lock_is_archived_as_it_is_and_the_run_goes_on(workspace):
    workspace.write(HOUSE)
    stale = lock(workspace, age_seconds=600)
    answer = workspace.translate()
    assert answer.exit_code == 0, answer.output
    (archived,) = workspace.run_folder.glob("RUNNING.stale.*.lock")
    assert archived.read_bytes() == stale
    assert answer.stderr.startswith(f"Archived stale lock to {archived} (")
    assert workspace.final() == [spanish(HOUSE)]
    assert not (workspace.run_folder / "RUNNING.lock").exists()


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [(b"{}", 3, "Invalid lock encountered:"), (None, 2, "Run already active: fresh RUNNING.lock exists")],
    ids=["no lock at all", "fresh"],
)
def test_a_lock_that_is_not_ours_is_left_alone_and_so_is_the_run(workspace, content, code, words):
    workspace.write(HOUSE, SHY)
    workspace.translate()
    lock(workspace, age_seconds=1)
    if content is not None:
        (workspace.run_folder / "RUNNING.lock").write_bytes(content)
    before, kept = traces(workspace.run_folder), (workspace.run_folder / "RUNNING.lock").read_bytes()
    workspace.write(HOUSE, TABLE, SHY)
    for answer in (workspace.translate(), workspace.about("approve", "--all"), workspace.about("project")):
        assert answer.exit_code == code, answer.output
        assert answer.stderr.startswith(words)
    assert traces(workspace.run_folder) == before
    assert (workspace.run_folder / "RUNNING.lock").read_bytes() == kept


@pytest.mark.parametrize("noticed", ["at the end", "by a heartbeat"])
def test_a_run_whose_lock_was_lost_ends_and_writes_no_file_any_more(workspace, noticed):
    workspace.write(*ALL)
    with slow(workspace, *ALL) as (server, go), workspace.process("--parallel", "1") as command:
        until_asked(server, command, 1)
        before = traces(workspace.run_folder)
        another = lock(workspace, age_seconds=0)
        if noticed == "at the end":
            go.set()
        assert command.end() == 3, command.log
    assert "RUNNING.lock is of another acquisition now" in command.log
    assert (workspace.run_folder / "RUNNING.lock").read_bytes() == another
    after = traces(workspace.run_folder)
    changed = {name for name in after.keys() | before.keys() if after.get(name) != before.get(name)}
    assert changed <= {".leasehold/answers.jsonl", ".leasehold/workers.log"}
    assert "report.html" not in after
    assert len(workspace.answers()) == (3 if noticed == "at the end" else 0)
