"""Fixtures of the store's tests: a stopped clock, and a worker to hold leases."""

import pytest

from leasehold.testing import Clock
from tests.store.work import register


@pytest.fixture
def clock(store) -> Clock:
    return Clock(store)


@pytest.fixture
def worker(store) -> int:
    return register(store)
