"""Runs that are stopped, started twice, or lose their lock: who may go on does, and nobody else changes anything."""

import json
import signal
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.pipelines.translate.commanding import (
    DOOR,
    HOUSE,
    SHY,
    TABLE,
    Desk,
    endpoint,
    inputs_of,
    spanish,
    told,
    traces,
    until_asked,
)
from tests.support.wait import until

ALL = (HOUSE, TABLE, DOOR)


@contextmanager
def slow(desk, *held):
    """An endpoint that keeps these paragraphs waiting until the event is set; or until the test is over."""
    go = threading.Event()

    def answer(asked):
        text = inputs_of(asked)
        return replace(told(text), after=go) if text in held else told(text)

    with endpoint(desk, answer) as server:
        try:
            yield server, go
        finally:
            go.set()


def lock(desk, *, age_seconds):
    """Write a lock of another's, with a heartbeat so old; return its bytes. It takes the place of what is there."""
    at = (datetime.now(UTC) - timedelta(seconds=age_seconds)).isoformat(timespec="seconds").replace("+00:00", "Z")
    fields = {"pid": 4711, "host": "elsewhere", "started_at": at, "last_heartbeat_at": at, "run_id": "story-en-es"}
    desk.run_folder.mkdir(parents=True, exist_ok=True)
    new = desk.run_folder / "lock-of-another"
    new.write_text(json.dumps(fields, indent=2))
    new.replace(desk.run_folder / "RUNNING.lock")
    return (desk.run_folder / "RUNNING.lock").read_bytes()


def test_a_run_that_is_told_to_stop_ends_cleanly_and_goes_on_where_it_was(database, tmp_path):
    desk = Desk(tmp_path, database)
    desk.write(*ALL)
    with slow(desk, TABLE) as (server, go):
        with desk.process("--parallel", "1") as hand:
            until_asked(server, hand, 2)
            hand.signal(signal.SIGINT)
            assert hand.end() == 128 + signal.SIGINT, hand.log
        assert "Stopped: " in hand.log
        assert "The same command goes on where it was." in hand.log
        assert not (desk.run_folder / "RUNNING.lock").exists()
        assert desk.status() == ["approved", "ingested", "ingested"]
        assert len(desk.answers()) == 1
        go.set()
        answer = desk.translate()
    assert answer.exit_code == 0, answer.output
    assert desk.final() == [spanish(text) for text in ALL]
    # Nobody waited for the answer about the paragraph in hand: that one alone is asked for again.
    assert sorted(inputs_of(asked) for asked in server.asked) == sorted([*ALL, TABLE])
    assert len(desk.answers()) == 3


def test_of_two_starts_at_once_one_runs_and_the_other_says_that_it_does(desk):
    desk.write(*ALL)
    with slow(desk, *ALL) as (server, go), desk.process(log="a") as one, desk.process(log="b") as two:
        until(lambda: not one.running or not two.running)
        loser, winner = (two, one) if one.running else (one, two)
        assert loser.end() == 2, loser.log
        planned = desk.run_folder / "RUNNING.lock"
        assert loser.log.startswith(f"Run already active: fresh RUNNING.lock exists at {planned}")
        until_asked(server, winner, 3)
        assert winner.running
        for words in (("approve", "1"), ("reject", "1", "--note", "n"), ("project",)):
            refused = desk.about(*words)
            assert (refused.exit_code, refused.stdout) == (2, "")
            assert refused.stderr.startswith("Run already active: fresh RUNNING.lock exists")
        assert desk.status() == ["ingested"] * 3  # whoever only looks may
        go.set()
        assert winner.end() == 0, winner.log
    assert len(server.asked) == len(desk.answers()) == 3
    assert desk.final() == [spanish(text) for text in ALL]


def test_a_stale_lock_is_archived_as_it_is_and_the_run_goes_on(desk):
    desk.write(HOUSE)
    stale = lock(desk, age_seconds=600)
    answer = desk.translate()
    assert answer.exit_code == 0, answer.output
    (archived,) = desk.run_folder.glob("RUNNING.stale.*.lock")
    assert archived.read_bytes() == stale
    assert answer.stderr.startswith(f"Archived stale lock to {archived} (")
    assert desk.final() == [spanish(HOUSE)]
    assert not (desk.run_folder / "RUNNING.lock").exists()


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [(b"{}", 3, "Invalid lock encountered:"), (None, 2, "Run already active: fresh RUNNING.lock exists")],
    ids=["no lock at all", "fresh"],
)
def test_a_lock_that_is_not_ours_is_left_alone_and_so_is_the_run(desk, content, code, words):
    desk.write(HOUSE, SHY)
    desk.translate()
    lock(desk, age_seconds=1)
    if content is not None:
        (desk.run_folder / "RUNNING.lock").write_bytes(content)
    before, kept = traces(desk.run_folder), (desk.run_folder / "RUNNING.lock").read_bytes()
    desk.write(HOUSE, TABLE, SHY)
    for answer in (desk.translate(), desk.about("approve", "--all"), desk.about("project")):
        assert answer.exit_code == code, answer.output
        assert answer.stderr.startswith(words)
    assert traces(desk.run_folder) == before
    assert (desk.run_folder / "RUNNING.lock").read_bytes() == kept


@pytest.mark.parametrize("noticed", ["at the end", "by a heartbeat"])
def test_a_run_whose_lock_was_lost_ends_and_writes_no_file_any_more(desk, noticed):
    desk.write(*ALL)
    with slow(desk, *ALL) as (server, go), desk.process("--parallel", "1") as hand:
        until_asked(server, hand, 1)
        before = traces(desk.run_folder)
        another = lock(desk, age_seconds=0)
        if noticed == "at the end":
            go.set()
        assert hand.end() == 3, hand.log
    assert "RUNNING.lock is of another acquisition now" in hand.log
    assert (desk.run_folder / "RUNNING.lock").read_bytes() == another
    after = traces(desk.run_folder)
    changed = {name for name in after.keys() | before.keys() if after.get(name) != before.get(name)}
    assert changed <= {".leasehold/answers.jsonl", ".leasehold/workers.log"}
    assert "report.html" not in after
    assert len(desk.answers()) == (3 if noticed == "at the end" else 0)
