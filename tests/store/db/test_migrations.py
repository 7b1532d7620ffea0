"""Migrations: forward only, under a lock, as a whole or not at all."""

import contextlib
from pathlib import Path

import apsw
import psycopg
import pytest

from leasehold.errors import SchemaForeign, SchemaMissing, SchemaTooNew, UrlInvalid
from leasehold.store import open_store
from leasehold.store.db import migrate
from tests.store.work import at_once, connect, look, submit

LATEST = migrate.latest("sqlite")
FIXTURES = Path(__file__).parent / "fixtures"
CATALOG = {
    "sqlite": [
        "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name"
    ],
    "postgres": [
        """SELECT table_name, column_name, data_type, is_nullable, column_default, is_identity, identity_generation
           FROM information_schema.columns WHERE table_schema = 'leasehold' ORDER BY table_name, ordinal_position""",
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'leasehold' ORDER BY indexname",
        """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
           WHERE connamespace = 'leasehold'::regnamespace ORDER BY 1, 2""",
        "SELECT viewname, definition FROM pg_views WHERE schemaname = 'leasehold' ORDER BY 1",
        """SELECT pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
           WHERE relnamespace = 'leasehold'::regnamespace AND NOT tgisinternal ORDER BY 1""",
        "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'leasehold'::regnamespace ORDER BY 1",
    ],
}


@pytest.fixture
def blank_url(empty_url):
    """A database without a schema, in addition to the one of `store`."""
    return empty_url.replace("leasehold.db", "blank.db")


@pytest.fixture
def empty_store(blank_url):
    with contextlib.closing(open_store(blank_url)) as store:
        yield store


def structure(store) -> list:
    dialect = store.database.dialect.name
    return [[[_plain(cell) for cell in row] for row in look(store, query)] for query in CATALOG[dialect]]


def _plain(cell):
    """Leave out blanks that only show how a definition was typed: SQLite adds a column before the last line break."""
    return " ".join(cell.split()).replace(" ,", ",").replace(" )", ")") if isinstance(cell, str) else cell


def make_version_7(store) -> None:
    """Give an empty database the schema and a job of the last development version before 0.1."""
    dialect = store.database.dialect.name
    script = (FIXTURES / f"version_7_{dialect}.sql").read_text()
    with connect(store) as connection:
        connection.execute(script)
        if isinstance(connection, psycopg.Connection):
            connection.execute("SET search_path = leasehold")
        connection.execute("INSERT INTO meta VALUES ('schema_version', '7')")
        connection.execute("INSERT INTO kind VALUES ('film', '{}', 1)")


def stamp(store, version: str) -> None:
    store.database.transact(lambda session: session.run("schema/stamp", version=version))


def test_migrating_again_changes_nothing(store):
    submit(store, "kept")
    before = structure(store)
    assert store.migrate() == (LATEST, LATEST)
    assert structure(store) == before
    assert look(store, "SELECT count(*) FROM task") == [(1,)]


def test_two_migrations_at_once_make_one_schema(blank_url, store):
    def migrate_once(_):
        with contextlib.closing(open_store(blank_url)) as other:
            return other.migrate()

    answers = at_once(4, migrate_once)
    assert sorted(answers) == [(0, LATEST), *3 * [(LATEST, LATEST)]]
    with contextlib.closing(open_store(blank_url)) as made:
        assert structure(made) == structure(store)


def test_preparing_a_new_database_gives_it_the_schema(empty_store):
    empty_store.prepare()
    assert migrate.version(empty_store.database) == LATEST
    empty_store.prepare()


def test_a_schema_newer_than_the_engine_is_refused(store):
    stamp(store, str(LATEST + 1))
    with pytest.raises(SchemaTooNew, match=f"version {LATEST + 1}; this engine knows {LATEST}") as refused:
        store.prepare()
    assert refused.value.code == "SCHEMA_TOO_NEW"
    with pytest.raises(SchemaTooNew):
        store.migrate()


def test_a_database_of_a_development_version_is_refused_and_left_as_it_is(empty_store):
    make_version_7(empty_store)
    before = structure(empty_store)
    for attempt in (empty_store.prepare, empty_store.migrate):
        with pytest.raises(SchemaForeign, match=r"a new database\. A development version before 0\.1") as refused:
            attempt()
        assert refused.value.code == "SCHEMA_FOREIGN"
    assert (structure(empty_store), migrate.version(empty_store.database)) == (before, 7)
    assert look(empty_store, "SELECT name FROM kind") == [("film",)]


def test_an_older_schema_is_not_taken_for_this_one(dialect):
    with pytest.raises(SchemaMissing, match="leasehold migrate") as refused:
        migrate.check(0, dialect)
    assert refused.value.code == "SCHEMA_MISSING"


def test_an_operation_without_a_schema_names_what_to_do(empty_store):
    with pytest.raises(SchemaMissing, match="leasehold migrate"):
        submit(empty_store, "early")


def test_tables_of_another_program_are_left_alone(empty_store):
    with connect(empty_store) as connection:
        if isinstance(connection, psycopg.Connection):
            connection.execute("CREATE SCHEMA leasehold")
            connection.execute("SET search_path = leasehold")
        connection.execute("CREATE TABLE meta (name TEXT, value TEXT)")
    with pytest.raises(SchemaForeign) as refused:
        empty_store.migrate()
    assert refused.value.code == "SCHEMA_FOREIGN"
    assert look(empty_store, "SELECT count(*) FROM meta") == [(0,)]
    with pytest.raises(SchemaForeign):
        empty_store.prepare()


def test_a_schema_without_its_version_is_not_guessed_at(store):
    with connect(store) as connection:
        if isinstance(connection, psycopg.Connection):
            connection.execute("SET search_path = leasehold")
        connection.execute("DELETE FROM meta WHERE name = 'schema_version'")
    with pytest.raises(SchemaForeign):
        store.prepare()
    with pytest.raises(SchemaForeign):
        store.migrate()


def test_a_database_of_the_first_release_is_upgraded_with_its_jobs_to_the_schema_of_a_new_one(empty_store, store):
    empty_store.database.transact(lambda session: session.script("migrations/0001_baseline"))
    stamp(empty_store, str(migrate.FIRST))
    with connect(empty_store) as connection:
        if isinstance(connection, psycopg.Connection):
            connection.execute("SET search_path = leasehold")
        connection.execute("INSERT INTO kind VALUES ('film', '{}', 1)")
    with pytest.raises(SchemaMissing):
        empty_store.prepare()
    assert empty_store.migrate() == (migrate.FIRST, LATEST)
    assert structure(empty_store) == structure(store)
    assert look(empty_store, "SELECT name FROM kind") == [("film",)]


def test_a_migration_that_fails_leaves_nothing_behind(empty_store):
    """S3 for the schema itself: a version is there as a whole or not at all."""

    def work(session):
        session.script("migrations/0001_baseline")
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011
        empty_store.database.transact(work)
    assert migrate.version(empty_store.database) == 0
    assert empty_store.migrate() == (0, LATEST)


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "notes.db"
    path.write_text("These are my notes, not a database. " * 50)
    with contextlib.closing(open_store(f"sqlite:///{path}")) as store, pytest.raises(UrlInvalid, match=r"notes\.db"):
        store.prepare()
    assert path.read_text().startswith("These are my notes")


def test_other_tables_in_the_same_file_are_no_trouble(tmp_path):
    path = tmp_path / "shop.db"
    with contextlib.closing(apsw.Connection(str(path))) as shop:
        shop.execute("CREATE TABLE customer (name TEXT)")
    with contextlib.closing(open_store(f"sqlite:///{path}")) as store:
        store.prepare()
        assert submit(store, "one")
