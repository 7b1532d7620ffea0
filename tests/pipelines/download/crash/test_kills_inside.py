"""Workers killed while a file becomes whole, between any two of its steps: the next one ends what was begun."""

import hashlib
import random
import signal

import pytest

from leasehold.pipelines.download import read_manifest
from tests.pipelines.download.crash.killed_worker import start

LARGE = random.Random(6).randbytes(200_000)  # has a part
SMALL = random.Random(7).randbytes(20_000)  # has none
# Where the process dies, and what it leaves: in staging, and whether content and name are there.
SEAMS_OF_A_PART: dict[str, tuple[set[str], bool, bool]] = {
    "synced": ({".part", ".json"}, False, False),
    "linked": ({".part", ".json"}, True, False),
    "unlinked": ({".json"}, True, False),
    "forgotten": (set(), True, False),
    "named": (set(), True, True),
}
SEAMS_OF_A_SMALL_FILE: dict[str, tuple[set[str], bool, bool]] = {
    "synced": (set(), False, False),
    "linked": (set(), True, False),
    "forgotten": (set(), True, False),
    "named": (set(), True, True),
}


def die(collection, seam, tmp_path):
    """Have a process work on what was planned, and see that it was killed at a seam."""
    with (tmp_path / "log").open("wb") as log:
        assert start(collection.settings, seam, log).wait() == -signal.SIGKILL, (tmp_path / "log").read_text()


def left(collection, content):
    """Return what a process has left of a file: in staging, and whether content and name are there."""
    content_store = collection.content_store
    names = {path.suffix for path in content_store.staging.iterdir()}
    return (
        names,
        content_store.has(sha(content)),
        any(path.is_symlink() for path in (content_store.root / "files").rglob("*")),
    )


def sha(content):
    return hashlib.sha256(content).hexdigest()


def check_whole(collection, job, content):
    """See that a file was fetched by the second attempt, once, and that nothing else lies about."""
    content_store = collection.content_store
    collection.app.drain(timeout=120)
    assert [event.name for event in collection.app.journal.of(job.id)].count("claimed") == 2
    assert (job.state, job.output["sha256"], job.output["bytes"]) == ("INDEXED", sha(content), len(content))
    assert [path for path in (content_store.root / "sha256").rglob("*") if path.is_file()] == [
        content_store.object(sha(content))
    ]
    assert content_store.object(sha(content)).read_bytes() == content
    assert list(content_store.staging.iterdir()) == []
    (row,) = collection.tools.index.rows()
    assert (row.key, row.sha256, row.path, row.state) == (job.key, sha(content), job.output["path"], "INDEXED")
    assert [path for path in (content_store.root / "files").rglob("*") if path.is_symlink()] == [
        content_store.root / row.path
    ]
    assert (content_store.root / row.path).resolve() == content_store.object(sha(content)).resolve()


@pytest.mark.parametrize("seam", SEAMS_OF_A_PART)
def test_a_kill_at_any_seam_of_finalize_fetches_no_byte_of_a_part_twice(collection, server, seam, tmp_path):
    (job,) = collection.plan(read_manifest([server.add("/a.bin", LARGE)]))
    die(collection, seam, tmp_path)
    assert left(collection, LARGE) == SEAMS_OF_A_PART[seam]
    check_whole(collection, job, LARGE)
    assert [(line.status, line.first, line.sent) for line in server.gets("/a.bin")] == [(200, 0, len(LARGE))]


@pytest.mark.parametrize("seam", SEAMS_OF_A_SMALL_FILE)
def test_a_kill_at_any_seam_of_a_small_file_leaves_it_whole_or_not_at_all(collection, server, seam, tmp_path):
    """It has no part: what a crash costs is to ask for it once more."""
    (job,) = collection.plan(read_manifest([server.add("/a.bin", SMALL)]))
    die(collection, seam, tmp_path)
    assert left(collection, SMALL) == SEAMS_OF_A_SMALL_FILE[seam]
    check_whole(collection, job, SMALL)
    assert [(line.status, line.sent) for line in server.gets("/a.bin")] == [(200, len(SMALL))] * 2


@pytest.mark.parametrize("seam", ["compared", "replaced"])
@pytest.mark.parametrize("content", [LARGE, SMALL], ids=["large", "small"])
def test_a_kill_before_or_after_a_damaged_content_is_replaced_leaves_one_that_is_right(
    collection, server, seam, content, tmp_path
):
    (job,) = collection.plan(read_manifest([server.add("/a.bin", content)]))
    target = collection.content_store.object(sha(content))
    target.parent.mkdir(parents=True)
    target.write_bytes(b"rot")
    die(collection, seam, tmp_path)
    assert target.read_bytes() == (b"rot" if seam == "compared" else content)
    check_whole(collection, job, content)
    assert sum(line.sent for line in server.gets("/a.bin")) == (len(LARGE) if content is LARGE else 2 * len(SMALL))


@pytest.mark.parametrize("seam", ["linked", "unlinked", "replaced"])
def test_what_a_killed_process_has_made_whole_is_read_only_in_the_end(collection, server, seam, tmp_path):
    (job,) = collection.plan(read_manifest([server.add("/a.bin", LARGE)]))
    if seam == "replaced":
        collection.content_store.object(sha(LARGE)).parent.mkdir(parents=True)
        collection.content_store.object(sha(LARGE)).write_bytes(b"rot")
    die(collection, seam, tmp_path)
    check_whole(collection, job, LARGE)
    assert collection.content_store.object(sha(LARGE)).stat().st_mode & 0o777 == 0o444
