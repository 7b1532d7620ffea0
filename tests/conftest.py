"""Fixtures that every test shares: databases that are real, fresh and gone afterwards.

A test that asks for `url`, `empty_url` or `store` runs twice: on SQLite and on PostgreSQL.
"""

import contextlib
import gc
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from leasehold.store import open_store
from tests.support.databases.databases import Databases
from tests.support.databases.postgres import PostgresServer, database_name
from tests.support.db import one_reader
from tests.support.memory import folder_in_memory
from tests.support.properties import load_profile

pytest_plugins = ["tests.support.needs"]

load_profile()

# A shell starts what runs in the background with SIGINT ignored, and so would be every program the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Where bytecode is forbidden, each of a thousand processes that the tests start compiles the engine again, which takes
# it longer than what the test wants of it; and each test process rewrites every assertion.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A SQLite file on a disk waits for that disk at each commit: a third of what such tests take. pytest itself reads this.
if (memory := folder_in_memory()) is not None:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))

# Nothing that is imported or collected is garbage, and to search it all again and again takes a tenth of the time.
gc.disable()

SQLITE_FILE = "leasehold.db"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have what takes long by itself begun first; all else stays in order."""
    items.sort(key=lambda item: item.get_closest_marker("early") is None)


def pytest_collection_finish() -> None:
    """Have garbage searched for among what the tests make, and not among the tests."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests of this process, on a socket and a port. Not to be stopped: see `private_postgres`."""
    with PostgresServer(tcp=True).set_aside() as server:
        yield server


@pytest.fixture(scope="session")
def databases(postgres) -> Iterator[Databases]:
    """Makes the databases of that server."""
    with contextlib.closing(Databases(postgres)) as databases:
        yield databases


@pytest.fixture(scope="session")
def postgres_template(postgres) -> str:
    """The name of a database that holds the schema, to make others from."""
    url = postgres.create_database()
    _migrate(url)
    return database_name(url)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory) -> Path:
    """A closed file that holds the schema, to make others from."""
    folder = tmp_path_factory.mktemp("template")
    _migrate(sqlite_url(folder))
    return folder / SQLITE_FILE


@pytest.fixture
def private_postgres(postgres) -> Iterator[Callable[..., PostgresServer]]:
    """Makes servers that a test may stop, kill and reconfigure: `private_postgres(durable=…, tcp=…)`."""
    with contextlib.ExitStack() as servers:
        alike = partial(PostgresServer, binaries=postgres.binaries, like=postgres)
        yield lambda **options: servers.enter_context(alike(**options))


@pytest.fixture(params=["sqlite", "postgres"])
def dialect(request) -> str:
    return request.param


@pytest.fixture
def empty_url(dialect, request, tmp_path) -> Iterator[str]:
    """A database without a schema."""
    if dialect == "sqlite":
        yield sqlite_url(tmp_path)
        return
    with _one_of(request.getfixturevalue("databases")) as url:
        yield url


@pytest.fixture
def url(dialect, request, tmp_path) -> Iterator[str]:
    """A database with the schema and nothing in it."""
    if dialect == "sqlite":
        shutil.copyfile(request.getfixturevalue("sqlite_template"), tmp_path / SQLITE_FILE)
        yield sqlite_url(tmp_path)
        return
    template = request.getfixturevalue("postgres_template")
    with _one_of(request.getfixturevalue("databases"), template) as url:
        yield url


@pytest.fixture
def store(url):
    """An open store with the schema and nothing in it."""
    with contextlib.closing(open_store(url)) as store:
        yield store


def sqlite_url(folder: Path) -> str:
    return f"sqlite:///{folder}/{SQLITE_FILE}"


@contextlib.contextmanager
def _one_of(databases: Databases, template: str | None = None) -> Iterator[str]:
    url = databases.make(template)
    with one_reader(url):
        yield url
    databases.give_back(url)


def _migrate(url: str) -> None:
    with contextlib.closing(open_store(url)) as store:
        store.migrate()
