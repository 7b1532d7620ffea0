"""Small files have no part: they are whole before they count as streamed, and a crash leaves nothing of them."""

import hashlib
import os
import random
import shutil
from contextlib import closing

import pytest

from leasehold.pipelines.download import read_manifest
from leasehold.pipelines.download.files.content_store import AnonymousFile, supports_anonymous_files
from leasehold.pipelines.download.files.part import RESUMABLE_BYTES
from leasehold.pipelines.download.repair.retry import retry
from leasehold.testing import crash_at
from tests.pipelines.download.crash.test_kills import worker
from tests.support.wait import until

CONTENT = random.Random(7).randbytes(5_000)
SHA = hashlib.sha256(CONTENT).hexdigest()


def objects(content_store):
    return [path for path in (content_store.root / "sha256").rglob("*") if path.is_file()]


def publish(content_store, content, sha256):
    with closing(AnonymousFile(content, content_store.staging)) as loose:
        return content_store.publish(loose, sha256)


@pytest.mark.parametrize("point", ["before_intent", "after_intent", "after_act", "after_result"])
@pytest.mark.parametrize("kind", ["HEAD", "STREAM", "FINALIZE", "INDEX", "DEDUPE"])
def test_s5_a_crash_at_any_point_fetches_no_small_file_twice_once_it_is_on_record(collection, server, kind, point):
    jobs = []
    paths = ["/first", "/second"]
    for path, is_crashed in zip(paths, (kind != "DEDUPE", kind == "DEDUPE"), strict=True):
        jobs += collection.plan(read_manifest([server.add(path, CONTENT)]))
        if is_crashed:
            with crash_at(collection.app, point, kind=kind):
                collection.app.drain(timeout=120)
        collection.app.drain(timeout=120)
    assert [job.state for job in jobs] == ["INDEXED", "DEDUPED"]
    is_torn = (kind, point) == ("STREAM", "after_act")  # it was fetched, and nobody had heard of it
    assert [len(server.gets(path)) for path in paths] == [2 if is_torn else 1, 1]
    assert [path.read_bytes() for path in objects(collection.content_store)] == [CONTENT]
    assert list(collection.content_store.staging.iterdir()) == []
    assert len(list(collection.tools.index.rows())) == 2


def test_what_is_under_way_has_no_part_and_a_kill_leaves_nothing(collection, server, tmp_path):
    (job,) = collection.plan(read_manifest([server.add("/a", CONTENT, stall_after=[1_000], crumbs=500)]))
    with (tmp_path / "log").open("wb") as log:
        process = worker(collection.settings, log)
        until(lambda: server.stalled, timeout=120)
        assert list(collection.content_store.staging.iterdir()) == []
        process.kill()
        process.wait()
    server.released.set()
    collection.app.drain(timeout=300)
    assert job.state == "INDEXED"
    assert [path.read_bytes() for path in objects(collection.content_store)] == [CONTENT]
    assert list(collection.content_store.staging.iterdir()) == []


@pytest.mark.parametrize("size", [0, 1, RESUMABLE_BYTES - 1, RESUMABLE_BYTES])
def test_every_size_around_what_is_small_becomes_the_same_file(collection, server, size):
    content = random.Random(size).randbytes(size)
    (job,) = collection.plan(read_manifest([server.add("/a", content)]))
    collection.app.drain(timeout=120)
    assert (job.state, job.output["sha256"]) == ("INDEXED", hashlib.sha256(content).hexdigest())
    (path,) = objects(collection.content_store)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (content, 0o444)


def test_where_files_must_have_names_it_is_fetched_by_a_part(collection, server):
    collection.content_store.has_anonymous_files = False
    (job,) = collection.plan(read_manifest([server.add("/a", CONTENT)]))
    collection.app.drain(timeout=120)
    assert job.state == "INDEXED"
    assert [path.read_bytes() for path in objects(collection.content_store)] == [CONTENT]


def test_a_part_that_is_there_is_built_over_and_not_left_behind(collection, server):
    (job,) = collection.plan(read_manifest([server.add("/a", CONTENT)]))
    collection.content_store.make()
    collection.content_store.part(job.key).write_bytes(b"of another file")
    collection.app.drain(timeout=120)
    assert job.state == "INDEXED"
    assert [path.read_bytes() for path in objects(collection.content_store)] == [CONTENT]
    assert list(collection.content_store.staging.iterdir()) == []


def test_a_file_that_is_larger_than_announced_is_downloaded_whole(collection, server, tmp_path):
    large = random.Random(8).randbytes(200_000)
    (job,) = collection.plan(read_manifest([server.add("/a", CONTENT, stall_after=[1_000], crumbs=500)]))
    with (tmp_path / "log").open("wb") as log:
        process = worker(collection.settings, log)
        until(lambda: server.stalled, timeout=120)
        process.kill()
        process.wait()
    server.released.set()
    server.add("/a", large)
    collection.app.drain(timeout=300)
    assert (job.state, job.output["bytes"]) == ("INDEXED", len(large))
    assert [path.read_bytes() for path in objects(collection.content_store)] == [large]


def test_a_file_whose_length_only_head_returns_is_requested_once(collection, server):
    (job,) = collection.plan(read_manifest([server.add("/a", CONTENT, ends_by_closing=True)]))
    collection.app.drain(timeout=120)
    assert job.state == "INDEXED"
    assert len(server.gets("/a")) == 1
    assert [path.read_bytes() for path in objects(collection.content_store)] == [CONTENT]


def test_the_only_one_with_a_content_is_indexed_though_its_first_try_had_failed_after_it_was_whole(collection, server):
    """Its folder for people is a file, so that it cannot be named; a person mends that and retries."""
    line = f'{{"work_id": "w", "artifact_id": "a", "url": "{server.add("/a", CONTENT)}"}}'
    (job,) = collection.plan(read_manifest([line]))
    collection.content_store.make()
    obstacle = collection.content_store.root / "files" / "w"
    obstacle.write_bytes(b"")
    collection.app.drain(timeout=300)
    assert job.status == "ERROR"
    obstacle.unlink()
    assert retry(collection).revived == 1
    collection.app.drain(timeout=120)
    assert job.state == "INDEXED"
    assert [row.state for row in collection.tools.index.rows()] == ["INDEXED"]


def test_a_wrong_small_file_never_becomes_one(collection, server):
    wanted = hashlib.sha256(b"other").hexdigest()
    line = f'{{"work_id": "w", "artifact_id": "a", "url": "{server.add("/a", CONTENT)}", "sha256": "{wanted}"}}'
    (job,) = collection.plan(read_manifest([line]))
    collection.app.drain(timeout=120)
    assert (job.status, job.failure["error_class"]) == ("ERROR", "HASH_MISMATCH")
    assert objects(collection.content_store) == []


def test_a_staging_folder_that_was_taken_away_is_a_conflict_and_tried_again(collection, server, tmp_path):
    (job,) = collection.plan(read_manifest([server.add("/a", CONTENT, stall_after=[1_000], crumbs=500)]))
    with (tmp_path / "log").open("wb") as log:
        process = worker(collection.settings, log)
        until(lambda: server.stalled, timeout=120)
        shutil.rmtree(collection.content_store.staging)
        server.released.set()
        until(lambda: "retried" in [event.name for event in collection.app.journal.of(job.id)], timeout=120)
        assert objects(collection.content_store) == []
        collection.content_store.make()
        until(lambda: job.status.settled, timeout=120)
        process.terminate()
        assert process.wait() == 0
    assert [event.detail for event in collection.app.journal.of(job.id) if "CONFLICT" in (event.detail or "")]
    assert job.state == "INDEXED"


def test_what_was_damaged_on_disk_is_replaced(content_store):
    publish(content_store, CONTENT, SHA)
    content_store.object(SHA).chmod(0o644)
    content_store.object(SHA).write_bytes(b"damaged")
    assert publish(content_store, CONTENT, SHA)
    assert content_store.object(SHA).read_bytes() == CONTENT
    assert list(content_store.staging.iterdir()) == []


def test_whatever_the_umask_is_everybody_may_read_and_nobody_may_write(content_store):
    before = os.umask(0o077)
    try:
        publish(content_store, CONTENT, SHA)
    finally:
        os.umask(before)
    assert content_store.object(SHA).stat().st_mode & 0o777 == 0o444


def test_the_same_content_twice_is_kept_once(content_store):
    assert publish(content_store, CONTENT, SHA)
    before = content_store.object(SHA).stat().st_ino
    assert not publish(content_store, CONTENT, SHA)
    assert content_store.object(SHA).stat().st_ino == before
    assert len(objects(content_store)) == 1


def test_a_probe_finds_out_what_a_folder_supports_and_leaves_nothing(content_store):
    assert supports_anonymous_files(content_store.staging)
    assert list(content_store.staging.iterdir()) == []
    assert not supports_anonymous_files(content_store.staging / "missing")
