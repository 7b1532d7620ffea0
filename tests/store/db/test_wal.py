"""The write-ahead log of a SQLite file: it grows while somebody reads, and its file becomes small again."""

import contextlib
from pathlib import Path

import pytest

from leasehold.model.task import Submission, Terms
from leasehold.runtime.maintain.upkeep import Upkeep
from leasehold.runtime.observe.events import EventLog
from leasehold.runtime.process_identity import this_process
from leasehold.store import open_store
from leasehold.store.db import sqlite_wal
from leasehold.store.db.limits import WAL_BYTES_MAX
from leasehold.testing import Clock
from tests.support.processes.long_reader import long_reader

PAYLOAD = '"' + "x" * 1_000_000 + '"'


@pytest.fixture
def dialect() -> str:
    return "sqlite"


def grow(store) -> None:
    """Write more than the limit into the log, in transactions of ten megabytes."""
    for number in range(WAL_BYTES_MAX // 10_000_000 + 1):
        store.tasks.submit([Submission("act", f"{number}.{part}", PAYLOAD, Terms()) for part in range(10)])


def size(store) -> int:
    return sqlite_wal.size(Path(store.url.removeprefix("sqlite:///")))


def test_the_log_is_truncated_by_an_idle_worker_when_its_long_reader_is_gone(store):
    clock = Clock(store)
    upkeep = Upkeep(store, store.workers.register(this_process()), this_process(), EventLog(worker=1))
    with long_reader(store.url) as reader:
        grow(store)
        upkeep.poll_once()
        assert size(store) > WAL_BYTES_MAX
        reader.kill()
        reader.wait()
    clock.advance(10)
    grown = size(store)
    upkeep.poll_once()
    assert grown > WAL_BYTES_MAX
    assert size(store) == 0
    assert len(store.tasks.submit([Submission("act", "after", "{}", Terms())])) == 1


def test_the_log_is_truncated_by_the_commits_that_follow_its_long_reader(url):
    with contextlib.closing(open_store(url, connections=1)) as store:
        with long_reader(url):
            grow(store)
            assert size(store) > WAL_BYTES_MAX
        for number in range(3):  # the first copies the log, the second starts it again and truncates it
            store.tasks.submit([Submission("act", f"after {number}", "{}", Terms())])
        assert size(store) <= WAL_BYTES_MAX


def test_a_log_that_somebody_reads_is_left_alone_and_nobody_is_kept_from_writing(store):
    with long_reader(store.url):
        grow(store)
        assert not store.truncate_wal()
        assert len(store.tasks.submit([Submission("act", "meanwhile", "{}", Terms())])) == 1
    assert store.truncate_wal()
    assert not store.truncate_wal()
