"""Databases in which work was done once, copied for each test that edits them."""

import contextlib
import shutil

import pytest

from leasehold import Leasehold
from tests.conftest import SQLITE_FILE, sqlite_url
from tests.support.databases.postgres import database_name
from tests.support.processes.workers import app, workers

__all__ = ["app", "copied", "originals", "workers"]


@pytest.fixture(scope="session")
def originals() -> dict[tuple[str, str], tuple[str, object]]:
    """By database and by who did the work: where it was done, and what came of it."""
    return {}


@pytest.fixture
def copied(dialect, request, originals, tmp_path, tmp_path_factory):
    """`copied(work)` has a function work on an empty database, once, and returns the address of a copy, and its answer.

    Nobody is connected to the original any more, so that each copy is whole and each test may do with it what it likes.
    """
    postgres = request.getfixturevalue("postgres") if dialect == "postgres" else None
    leaving = contextlib.ExitStack()

    def empty():
        if postgres is not None:
            return postgres.create_database(template=request.getfixturevalue("postgres_template"))
        folder = tmp_path_factory.mktemp("original")
        shutil.copyfile(request.getfixturevalue("sqlite_template"), folder / SQLITE_FILE)
        return sqlite_url(folder)

    def copy(work):
        asked = dialect, f"{work.__module__}.{work.__qualname__}"
        if asked not in originals:
            url = empty()
            with contextlib.closing(Leasehold(url)) as app:
                originals[asked] = url, work(app)
        url, answer = originals[asked]
        if postgres is None:
            shutil.copyfile(url.removeprefix("sqlite:///"), tmp_path / SQLITE_FILE)
            return sqlite_url(tmp_path), answer
        mine = postgres.create_database(template=database_name(url))
        leaving.callback(postgres.drop_database, mine)
        return mine, answer

    with leaving:
        yield copy
