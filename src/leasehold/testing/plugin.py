"""The pytest plugin: fixtures for users' tests. The engine is imported by the test that asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from leasehold import Job, Leasehold
    from leasehold.testing import Clock, Matrix


@pytest.fixture
def leasehold_app(tmp_path: Path) -> Iterator[Leasehold]:
    """A fresh app on a SQLite file of its own, closed at the end."""
    from leasehold import Leasehold

    app = Leasehold(f"sqlite:///{tmp_path}/leasehold.db")
    app.migrate()
    yield app
    app.close()


@pytest.fixture
def leasehold_clock(leasehold_app: Leasehold) -> Clock:
    """The stopped clock of `leasehold_app`."""
    from leasehold.testing import Clock

    return Clock(leasehold_app)


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
