"""A right that is missing on PostgreSQL, or a full disk below it: an error of its own, with what helps."""

import re
import secrets
from contextlib import closing

import psycopg
import pytest

from leasehold import Leasehold
from leasehold.errors import DatabaseUnavailable, DiskFull, RightsMissing
from leasehold.store import open_store
from leasehold.store.db.postgres import grant_for
from tests.support.databases.postgres import PostgresServer, database_name
from tests.support.disks.small_disk import small_disk
from tests.support.needs import MOUNT

GRANT = re.compile(r"may run: (GRANT [^;]+;)")


@pytest.fixture
def dialect() -> str:
    """SQLite has no users; the right to a file is tested with the command."""
    return "postgres"


@pytest.fixture
def owner(url):
    """A connection of the owner, in the same database as a user `clerk` who has no rights there yet."""
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        connection.execute("CREATE ROLE clerk LOGIN")
        yield connection
        connection.execute("DROP OWNED BY clerk")
        connection.execute("DROP ROLE clerk")


@pytest.fixture
def clerk_url(url, owner) -> str:
    return url.replace("://postgres@", "://clerk@")


def greet(name: str) -> str:
    return f"hello {name}"


def grant_in(error) -> str:
    assert "cannot be reached" not in str(error)
    (found,) = GRANT.findall(str(error))
    return found


def test_the_grants_that_refusals_name_are_enough_to_submit_and_to_work(owner, clerk_url):
    grants: list[str] = []
    while len(grants) < 10:
        try:
            with closing(Leasehold(clerk_url)) as app:
                job = app.job(greet).submit({"name": "Ada"})
                app.drain()
                assert job.output == "hello Ada"
                break
        except RightsMissing as error:
            grants.append(grant_in(error))
            owner.execute(grants[-1])
    assert grants[0] == "GRANT USAGE ON SCHEMA leasehold TO clerk;"
    assert len(grants) == len(set(grants))


def test_a_user_who_may_only_read_can_list_and_learns_what_a_submit_needs(owner, clerk_url):
    owner.execute("GRANT USAGE ON SCHEMA leasehold TO clerk")
    owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA leasehold TO clerk")
    with closing(Leasehold(clerk_url)) as app:
        assert app.jobs() == []
        with pytest.raises(RightsMissing) as refused:
            app.job(greet).submit({"name": "Ada"})
    assert grant_in(refused.value) == (
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA leasehold TO clerk;"
    )


def test_a_user_who_may_not_connect_learns_it_at_once(owner, clerk_url, url):
    name = database_name(url)
    owner.execute(f'REVOKE CONNECT ON DATABASE "{name}" FROM PUBLIC')
    with closing(open_store(clerk_url)) as store, pytest.raises(RightsMissing) as refused:
        store.require_schema()
    assert grant_in(refused.value) == f'GRANT CONNECT ON DATABASE "{name}" TO clerk;'


def test_a_user_who_may_not_make_a_schema_learns_what_that_needs(owner, clerk_url, url):
    owner.execute("DROP SCHEMA leasehold CASCADE")
    with closing(open_store(clerk_url)) as store, pytest.raises(RightsMissing) as refused:
        store.migrate()
    assert grant_in(refused.value) == f'GRANT CREATE ON DATABASE "{database_name(url)}" TO clerk;'


def test_a_refusal_in_another_language_or_about_ownership_names_who_may_help():
    assert grant_for("Keine Berechtigung für Schema leasehold", "clerk", connected=True) == (
        "Only the owner of the schema may do this."
    )
    assert grant_for("must be owner of table task", "clerk", connected=True).startswith("Only the owner")
    assert grant_for("permission denied for schema x", 'a"b', connected=True).endswith('TO "a""b";')


@MOUNT.mark
def test_a_full_disk_below_the_server_is_reported_as_one_and_work_goes_on_when_there_is_room(postgres):
    with (
        small_disk(160) as disk,
        PostgresServer(binaries=postgres.binaries, home=disk.folder) as server,
        closing(Leasehold(server.create_database())) as app,
    ):
        kind = app.job(greet)
        app.migrate()
        disk.fill()
        with pytest.raises(DiskFull, match="No space left on device"):
            submit_large(kind, 20)  # what the files have room for is soon used up
        disk.clear()
        submit_large(kind, 1)


def submit_large(kind, times):
    for _ in range(times):
        kind.submit({"name": secrets.token_hex(400_000)})


def test_a_missing_right_and_a_full_disk_are_waited_for_like_a_database_that_is_away(store):
    """A worker goes on when the right was granted, or when there is room."""
    translate = store.database.dialect.translate
    full = translate(psycopg.errors.DiskFull("could not extend file: No space left on device"))
    denied = translate(psycopg.errors.InsufficientPrivilege("permission denied for table task"))
    assert (type(full), type(denied)) == (DiskFull, RightsMissing)
    assert isinstance(full, DatabaseUnavailable)
    assert isinstance(denied, DatabaseUnavailable)
