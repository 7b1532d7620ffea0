"""What the doctor names that keeps a database from cleaning up: readers that stay, transactions that do not end."""

import contextlib
import subprocess
import sys

import psycopg
import pytest

from leasehold.insight import pins
from leasehold.insight.doctor import Grade, examine
from leasehold.model.task import Submission, Terms
from leasehold.runtime.process_identity import is_gone, this_process
from leasehold.store import open_store
from leasehold.store.db import sqlite_wal
from leasehold.store.db.limits import WAL_BYTES_MAX
from tests.conftest import sqlite_url
from tests.support.processes.long_reader import long_reader
from tests.support.wait import until

WRITER = """
import sys
from leasehold.model.task import Submission, Terms
from leasehold.store import open_store
store = open_store(sys.argv[1])
for number in range(10**9):
    store.tasks.submit([Submission("act", str(number), "{}", Terms())])
    print(number, flush=True)
"""


def finding(url: str, name: str):
    return next(one for one in examine(url, this_process(), is_gone) if one.name == name)


@pytest.fixture
def file(tmp_path):
    with contextlib.closing(open_store(sqlite_url(tmp_path))) as store:
        store.migrate()
        yield store


def test_a_process_that_reads_a_sqlite_file_for_long_is_named_with_its_command(file):
    assert finding(file.url, "wal").grade is Grade.OK
    with long_reader(file.url) as reader:
        file.tasks.submit([Submission("act", "a", "{}", Terms())])
        found = finding(file.url, "wal")
        assert found.grade is Grade.WARN
        assert found.text.endswith("MB; held back by 1 reader")
        assert f"process {reader.pid} ({sys.executable} -c" in found.advice
    assert finding(file.url, "wal").grade is Grade.OK


def test_a_process_that_only_works_on_the_file_is_not_taken_for_a_long_reader(file):
    path = file.database.dialect.path
    with subprocess.Popen([sys.executable, "-c", WRITER, file.url], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        try:
            file.workers.register(this_process())
            assert until(
                lambda: pins.find_long_readers(path) == []
            )  # a commit may wait for the disk for long, not each
        finally:
            writer.kill()
            writer.stdout.read()


def test_a_large_log_without_a_reader_waits_for_a_worker():
    found = pins.check_wal(sqlite_wal.WalState(WAL_BYTES_MAX + 1), [])
    assert found.grade is Grade.WARN
    assert found.text == "67.1 MB"
    assert "`leasehold orchestrate`" in found.advice


def test_a_transaction_that_does_not_end_is_named_with_what_ends_it(databases, postgres_template):
    url = databases.make(postgres_template)
    with psycopg.connect(url, application_name="report of July") as idle, contextlib.closing(open_store(url)) as store:
        assert pins.check(store).text == "none stays open"
        idle.execute("SELECT 1")
        assert pins.check(store).grade is Grade.OK  # not for long yet
        found = pins.check(store, pinned_seconds=0)
        assert found.grade is Grade.WARN
        pid = idle.info.backend_pid
        assert f"process {pid} (report of July, postgres, idle in transaction) has a transaction open" in found.text
        assert f"SELECT pg_terminate_backend({pid});" in found.advice
    databases.give_back(url)


def test_prepared_transactions_and_slots_without_a_reader_are_named(private_postgres):
    server = private_postgres()
    server.stop()
    server.settings |= {"wal_level": "logical", "max_prepared_transactions": "2"}
    server.start()
    with psycopg.connect(server.url(), autocommit=True) as other, contextlib.closing(open_store(server.url())) as store:
        store.migrate()
        other.execute("SELECT pg_create_logical_replication_slot('copy', 'pgoutput')")
        other.execute("BEGIN")
        other.execute("CREATE TABLE half (id integer)")
        other.execute("PREPARE TRANSACTION 'it''s half'")
        found = pins.check(store, pinned_seconds=0)
    assert "nobody reads replication slot 'copy' (logical, pgoutput)" in found.text
    assert "prepared transaction 'it's half' of postgres waits for 0 s" in found.text
    assert "COMMIT PREPARED 'it''s half'; or ROLLBACK PREPARED 'it''s half';" in found.advice
    assert "SELECT pg_drop_replication_slot('copy');" in found.advice


def test_a_role_that_may_not_see_other_sessions_learns_that_there_are_some(databases, postgres_template):
    url = databases.make(postgres_template)
    with psycopg.connect(url, autocommit=True) as owner, contextlib.closing(open_store(url)) as store:
        owner.execute("DROP ROLE IF EXISTS blind")
        owner.execute("CREATE ROLE blind LOGIN; GRANT USAGE ON SCHEMA leasehold TO blind")
        with contextlib.closing(open_store(url.replace("postgres@", "blind@", 1))) as blind:
            text = pins.check(blind, pinned_seconds=0).text
        assert "cannot be seen without pg_read_all_stats" in text
        assert pins.check(store).text == "none stays open"
        owner.execute("DROP OWNED BY blind; DROP ROLE blind")
    databases.give_back(url)
