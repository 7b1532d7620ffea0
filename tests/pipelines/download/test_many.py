"""Thousands of small files and several worker processes: every hash right, every body fetched once."""

import hashlib
import random
from collections import Counter

import pytest

from leasehold.pipelines.download import read_manifest
from tests.pipelines.download.collection_folder import run_workers
from tests.support.db import check_journal, check_places

WORKERS = 4
PER_HOST = 100
TWINS = 10  # one file in so many has the content of the one before


def contents_of(count):
    """Small files of all lengths, an empty one among them, some alike."""
    dice = random.Random(count)
    found = {}
    content = b""
    for number in range(count):
        if number % TWINS:
            content = dice.randbytes(dice.randrange(1, 4_000))
        found[f"/papers/{number}.bin"] = content
    return found


@pytest.mark.early
@pytest.mark.parametrize("files", [600, pytest.param(5_000, marks=pytest.mark.soak)])
def test_s4_many_small_files_and_four_workers_fetch_each_body_once(server, collection, files):
    contents = contents_of(files)
    jobs = collection.plan(read_manifest(server.add(path, content) for path, content in contents.items()))
    snapshot = run_workers(collection, WORKERS, per_host=PER_HOST)
    unlike = len(set(contents.values()))
    assert snapshot.counts == {"INDEXED": unlike, "DEDUPED": files - unlike}
    for job, content in zip(jobs, contents.values(), strict=True):
        assert job.output["sha256"] == hashlib.sha256(content).hexdigest()
        assert (collection.content_store.root / job.output["path"]).read_bytes() == content
    assert sum(path.is_file() for path in (collection.content_store.root / "sha256").rglob("*")) == unlike
    assert Counter(line.path for line in server.log if line.method == "GET") == dict.fromkeys(contents, 1)
    assert list(collection.content_store.staging.iterdir()) == []
    assert len(list(collection.tools.index.rows())) == files
    check_places(collection.settings.database)
    check_journal(collection.settings.database)
