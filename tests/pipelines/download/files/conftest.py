"""What the tests of files share: a folder for contents."""

import pytest

from leasehold.pipelines.download.files.content_store import ContentStore


@pytest.fixture
def content_store(tmp_path):
    made = ContentStore(tmp_path)
    made.make()
    return made
