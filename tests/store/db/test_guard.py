"""One SQLite library per process: a second one on the engine's file would drop the first one's locks."""

import contextlib
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import quote

import apsw
import pytest

from leasehold.errors import SecondLibrary, SqliteTooOld
from leasehold.store import open_store
from leasehold.store.db.sqlite import check_version
from tests.conftest import sqlite_url
from tests.store.work import submit


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "engine.db"


@pytest.fixture
def engine(path):
    with contextlib.closing(open_store(f"sqlite:///{path}")) as store:
        store.prepare()
        yield store


def names_of(path: Path) -> list[tuple]:
    link = path.with_name("link.db")
    link.symlink_to(path)
    return [
        (str(path), False),
        (path, False),
        (os.fsencode(path), False),
        (f"file:{path}", True),
        (f"file://{path}?mode=ro", True),
        (f"file:{quote(str(path)).replace('engine', '%65ngine')}", True),
        (str(path.parent / "sub" / ".." / "engine.db"), False),
        (str(link), False),
        (os.path.relpath(path), False),
    ]


def test_the_standard_library_may_not_open_the_engines_file(engine, path):
    (path.parent / "sub").mkdir()
    for name, uri in names_of(path):
        with pytest.raises(SecondLibrary) as refused:
            sqlite3.connect(name, uri=uri)
        assert refused.value.code == "SECOND_LIBRARY"
    assert submit(engine, "k")


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_a_plain_open_of_the_engines_files_is_refused(engine, path, suffix):
    target = Path(f"{path}{suffix}")
    with pytest.raises(SecondLibrary):
        target.read_bytes()
    with pytest.raises(SecondLibrary):
        os.open(target, os.O_RDONLY)


def test_other_files_are_nobodys_business(engine, path):
    other = path.with_name("other.db")
    with contextlib.closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (x)")
    namesake = path.parent / "folder" / path.name
    namesake.parent.mkdir()
    namesake.write_text("mine")
    with contextlib.closing(sqlite3.connect(":memory:")) as memory:
        assert memory.execute("SELECT 1").fetchone() == (1,)
    assert namesake.read_text() == "mine"


def test_a_file_that_is_open_elsewhere_in_the_process_is_not_taken(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")
        with (
            contextlib.closing(open_store(f"sqlite:///{path}")) as store,
            pytest.raises(SecondLibrary, match="close it"),
        ):
            store.prepare()
    with contextlib.closing(open_store(f"sqlite:///{path}")) as store:
        store.prepare()


def test_the_callers_own_apsw_connection_may_be_there_first(path):
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        connection.execute("CREATE TABLE customer (name TEXT)")
        with contextlib.closing(open_store(f"sqlite:///{path}")) as store:
            store.prepare()
            with store.transaction(connection):
                connection.execute("INSERT INTO customer VALUES ('ada')")
                submit(store, "k")
            assert store.reports.health().ready == 1


def test_the_file_is_free_again_after_the_engine_closed_it(path):
    with contextlib.closing(open_store(f"sqlite:///{path}")) as store:
        store.prepare()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM task").fetchone() == (0,)


def test_the_file_stays_guarded_until_the_last_store_is_closed(engine, path):
    with contextlib.closing(open_store(f"sqlite:///{path}")) as second:
        second.prepare()
    with pytest.raises(SecondLibrary):
        sqlite3.connect(path)


def test_another_process_may_use_any_library(engine, path):
    submit(engine, "k")
    program = (
        "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM ready').fetchone())"
    )
    assert (
        subprocess.run([sys.executable, "-c", program, str(path)], check=True, capture_output=True).stdout == b"(1,)\n"
    )


def test_a_store_that_could_not_open_its_file_guards_nothing(path):
    path.write_text("no database at all, just text" * 100)
    with (
        contextlib.closing(open_store(f"sqlite:///{path}")) as store,
        pytest.raises(Exception, match="cannot be opened"),
    ):
        store.prepare()
    assert path.read_text().startswith("no database")


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
@pytest.mark.parametrize("make", [Path.symlink_to, Path.hardlink_to])
def test_a_link_of_any_name_is_refused_while_the_engine_is_open(engine, path, tmp_path, make, suffix):
    submit(engine, "k")
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "notes.txt"
    make(link, path.with_name(path.name + suffix))
    with pytest.raises(SecondLibrary):
        link.open("rb")
    with pytest.raises(SecondLibrary):
        sqlite3.connect(link)
    engine.close()
    with contextlib.suppress(FileNotFoundError):  # a symbolic link to what SQLite has taken away
        link.open("rb").close()


@pytest.mark.parametrize("version", ["3.51.2", "3.45.0", "3.8.11.1", "2.99.99"])
def test_a_sqlite_that_can_corrupt_is_refused(version):
    with pytest.raises(SqliteTooOld, match=version) as refused:
        check_version(version)
    assert refused.value.code == "SQLITE_TOO_OLD"


@pytest.mark.parametrize("version", ["3.51.3", "3.52.0", "4.0.0", apsw.sqlite_lib_version()])
def test_a_sqlite_that_is_new_enough_is_taken(version):
    assert check_version(version) is None  # type: ignore[func-returns-value]


def test_a_connection_that_another_thread_is_using_keeps_nobody_from_opening_a_file(tmp_path):
    begun, go_on = threading.Event(), threading.Event()

    def pause(*_):
        begun.set()
        return go_on.wait()

    with contextlib.closing(open_store(sqlite_url(tmp_path))) as store:
        store.prepare()
    busy = apsw.Connection(str(tmp_path / "other.db"))
    busy.create_scalar_function("pause", pause, 0)
    thread = threading.Thread(target=busy.execute, args=["SELECT pause()"])
    thread.start()
    try:
        assert begun.wait(60)
        with contextlib.closing(open_store(sqlite_url(tmp_path))) as store:
            assert store.queues.all() == []
    finally:
        go_on.set()
        thread.join()
        busy.close()
