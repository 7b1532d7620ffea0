"""What these tests share: Apertium where it is installed, and a real model on this machine."""

import pytest

from leasehold.pipelines.translate.translators.apertium import Apertium
from tests.pipelines.translate.installed import APERTIUM
from tests.servers.local_model import LocalModel


@pytest.fixture(params=APERTIUM)
def apertium():
    made = Apertium()
    yield made
    made.close()


@pytest.fixture(scope="session")
def local_model():
    """One server for all tests of this process; it starts when the first test asks for it."""
    with LocalModel() as made:
        yield made
