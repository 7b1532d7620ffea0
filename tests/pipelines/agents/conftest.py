"""Records in the test's own database, which is the engine's too."""

from contextlib import closing

import pytest

from leasehold.pipelines.agents.records.records import open_records
from tests.pipelines.agents.dispatch.coordinators import deterministic


@pytest.fixture
def records(url):
    with closing(open_records(url)) as records:
        records.migrate()
        yield records


@pytest.fixture
def state(records):
    """A coordinator that has recovered, whose ids and times are the same in every run."""
    return deterministic(records)
