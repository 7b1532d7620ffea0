"""The pytest plugin: fixtures for users' tests. The engine is imported by the test that asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from leasehold import Job, Leasehold
    from leasehold.testing import AdoptingApp, Clock, Matrix


@pytest.fixture
def leasehold_url(tmp_path: Path) -> str:
    """The database of `leasehold_app`: a SQLite file of its own. Override it to test on another one."""
    return f"sqlite:///{tmp_path}/leasehold.db"


@pytest.fixture
def leasehold_app(leasehold_url: str) -> Iterator[AdoptingApp]:
    """A fresh app on a database of its own, closed at the end; `leasehold_app.adopt(app)` has yours use it as well."""
    from leasehold.testing import AdoptingApp

    with closing(AdoptingApp(leasehold_url)) as app:
        app.migrate()
        yield app


@pytest.fixture
def leasehold_clock(leasehold_app: Leasehold) -> Clock:
    """The stopped clock of `leasehold_app`, and of every app that it has adopted."""
    from leasehold.testing import Clock

    return Clock(leasehold_app)


@pytest.fixture(scope="session")
def leasehold_postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server: that of LEASEHOLD_TEST_POSTGRES_URL, or one started from installed programs."""
    from leasehold.testing import postgres

    try:
        with postgres.server() as url:
            yield url
    except postgres.NoServer as reason:
        pytest.skip(f"PostgreSQL: {reason}")


@pytest.fixture
def leasehold_postgres_url(leasehold_postgres_server: str) -> Iterator[str]:
    """The URL of an empty PostgreSQL database, dropped at the end. Without a server the test is skipped."""
    from leasehold.testing import postgres

    with postgres.database(leasehold_postgres_server) as url:
        yield url


@pytest.fixture
def leasehold_crash_matrix(tmp_path: Path) -> Callable[..., Matrix]:
    """Run a job once per crash point of each of its effects: `run(register, submit, acts)`; see `crash_matrix`."""
    from leasehold import Leasehold
    from leasehold.testing import crash_matrix

    numbers = iter(range(1_000_000))

    def run(
        register: Callable[[Leasehold], object], submit: Callable[[Leasehold], Job], acts: Callable[[], int]
    ) -> Matrix:
        def make() -> Leasehold:
            app = Leasehold(f"sqlite:///{tmp_path}/crash-{next(numbers)}.db")
            register(app)
            return app

        return crash_matrix(make, submit, acts)

    return run
