"""What storms share: a way to begin one, and that whatever it started is gone afterwards."""

import contextlib
from collections.abc import Callable, Iterator

import pytest

from tests.chaos.storm import Storm


@pytest.fixture
def make_storm(tmp_path) -> Iterator[Callable[..., Storm]]:
    """Makes storms: `make_storm(name, url, lease=…)`."""
    with contextlib.ExitStack() as storms:

        def make(name: str, url: str, **options) -> Storm:
            folder = tmp_path / f"storm-{name}"
            folder.mkdir()
            return storms.enter_context(contextlib.closing(Storm(name, url, folder, **options)))

        yield make
