"""What these tests share: a server that misbehaves on demand, collections on both databases, a script and its file."""

import pytest

from leasehold.pipelines.download import Collection, Settings
from tests.pipelines.download.collection_folder import folder_of
from tests.pipelines.download.script.scripts import conn, connect
from tests.support.http.file_server import FileServer

__all__ = ["conn", "connect"]


@pytest.fixture
def server():
    with FileServer() as made:
        yield made


@pytest.fixture
def database(dialect, request):
    """The address of a database; empty for the one in the folder."""
    return request.getfixturevalue("postgres").create_database() if dialect == "postgres" else ""


@pytest.fixture
def collection(database, tmp_path):
    made = Collection(Settings(tmp_path / "out", database))
    yield made
    made.close()


@pytest.fixture
def folder(dialect, request, tmp_path):
    return folder_of(dialect, request, tmp_path)
