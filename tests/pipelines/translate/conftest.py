"""What these tests share: Apertium where it is installed, both databases, and a real model on this machine."""

import pytest

from leasehold.pipelines.translate.translators.apertium.engine import Apertium
from tests.pipelines.translate.workspace import Workspace
from tests.support.http.local_model import LocalModel
from tests.support.needs import APERTIUM


@pytest.fixture(params=[APERTIUM.param("apertium")])
def apertium():
    made = Apertium()
    yield made
    made.close()


@pytest.fixture(scope="session")
def local_model():
    """One server for all tests of this process; it starts when the first test asks for it."""
    with LocalModel() as made:
        yield made


@pytest.fixture
def workspace(tmp_path):
    """A document, its run in its own folder, and a dictionary that translates it."""
    return Workspace(tmp_path)


@pytest.fixture
def database(dialect, request):
    """The address of a database; empty for the one in the run's folder."""
    return request.getfixturevalue("postgres").create_database() if dialect == "postgres" else ""
