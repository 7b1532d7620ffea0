"""The pytest plugin: fixtures for users' tests. The engine is imported by the test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from leasehold import Leasehold
    from leasehold.testing import Clock


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
