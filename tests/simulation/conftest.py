"""One file for all worlds of a test process, in memory where the machine has such a place."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulation.sessions import File
from tests.support.memory import folder_in_memory


@pytest.fixture(scope="session")
def file() -> Iterator[File]:
    folder = Path(tempfile.mkdtemp(dir=folder_in_memory()))
    found = File(folder / "world.db")
    yield found
    found.close()
    shutil.rmtree(folder)
