"""What these tests share: clients that are closed at the end, and a part that is not there yet."""

import pytest

from leasehold.pipelines.download.files.part import Part
from leasehold.pipelines.download.http.client import Options
from tests.pipelines.download.http.sync_client import SyncClient


@pytest.fixture
def make_client():
    """Return a function that makes a client."""
    made = []

    def make(**options):
        made.append(SyncClient(Options(**{"timeout": 30, **options})))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(make_client):
    return make_client()


@pytest.fixture
def part(tmp_path):
    return Part(tmp_path / "key.part", "this boot")
