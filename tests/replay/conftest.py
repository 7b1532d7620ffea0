"""What the tests of records share: the shop's jobs, run on both databases at the same stopped times, and exported."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import sqlite_url
from tests.support.processes.fork_server import run_module


@dataclass(frozen=True, slots=True)
class Records:
    """The exports of one database. `acts` is what the shop has done to the outside world, one word a line."""

    folder: Path

    def __getitem__(self, kind: str) -> Path:
        return self.folder / f"{kind}.ndjson"

    @property
    def acts(self) -> Path:
        return self.folder / "acts"

    def all(self) -> list[Path]:
        return sorted(self.folder.glob("*.ndjson"))


def record(url: str, folder: Path) -> Records:
    known = {"LEASEHOLD_URL": url, "SHOP_ACTS": str(folder / "acts")}
    ran = run_module("tests.replay.recorder", str(folder), env=os.environ | known)
    assert ran.returncode == 0, ran.stderr
    return Records(folder)


@pytest.fixture(scope="session")
def both_records(postgres, postgres_template, tmp_path_factory) -> Iterator[dict[str, Records]]:
    """The records of the same steps on SQLite and on PostgreSQL."""
    url = postgres.create_database(template=postgres_template)
    folders = {name: tmp_path_factory.mktemp(name) for name in ("sqlite", "postgres")}
    yield {
        "sqlite": record(sqlite_url(folders["sqlite"]), folders["sqlite"]),
        "postgres": record(url, folders["postgres"]),
    }
    postgres.drop_database(url)


@pytest.fixture
def records(both_records, dialect) -> Records:
    return both_records[dialect]
