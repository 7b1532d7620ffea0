"""A collection end to end: every file of a manifest on disk once, whatever servers and crashes do."""

import asyncio
import hashlib
import random
from collections import Counter
from contextlib import closing

import pytest

from leasehold import Misuse
from leasehold.pipelines.download.collection import PLAN_FIRST, Collection, Settings, settings_of_this_process
from leasehold.pipelines.download.files.part import Part
from leasehold.pipelines.download.manifest import read_manifest
from tests.support.db import rows

CONTENT = random.Random(7).randbytes(200_000)


@pytest.fixture
def make(dialect, request, tmp_path):
    """Open a collection, on the database in its folder or on PostgreSQL; again and again, as a person does."""
    url = request.getfixturevalue("postgres").create_database() if dialect == "postgres" else ""
    opened = []

    def open_it(**options):
        opened.append(Collection(Settings(tmp_path / "out", url, **options)))
        return opened[-1]

    yield open_it
    for one in opened:
        one.close()


def fetch(collection, *lines):
    jobs = collection.plan(read_manifest(lines))
    collection.app.drain(timeout=120)
    return jobs


def moves(collection, job):
    found = rows(collection.settings.database, "SELECT task_id, detail FROM event WHERE name = 'moved' ORDER BY id")
    return [detail.rpartition(":")[2].strip('"}') for task, detail in found if task == job.id]


def test_a_file_is_on_disk_by_its_hash_with_a_name_and_in_the_index(make, server, tmp_path):
    collection = make()
    (job,) = fetch(collection, server.add("/papers/Gr%C3%BC%C3%9Fe.pdf", CONTENT))
    sha = hashlib.sha256(CONTENT).hexdigest()
    assert (job.status, job.state) == ("DONE", "INDEXED")
    assert job.output["sha256"] == sha
    assert (tmp_path / "out" / "sha256" / sha[:2] / sha[2:]).read_bytes() == CONTENT
    assert (tmp_path / "out" / job.output["path"]).read_bytes() == CONTENT
    assert job.output["path"].endswith("Grüße.pdf")
    assert moves(collection, job) == ["LEASED", "HEAD_DONE", "STREAMING", "FINALIZED", "INDEXED"]
    (row,) = collection.tools.index.find("grüße")
    assert (row.sha256, row.size, row.host) == (sha, len(CONTENT), server.host)
    assert list((tmp_path / "out" / ".leasehold" / "staging").iterdir()) == []
    assert collection.app.journal.verify(job.id).equal


def test_the_same_content_under_another_key_is_kept_once(make, server, tmp_path):
    collection = make()
    jobs = fetch(collection, server.add("/a", CONTENT), server.add("/b", CONTENT), server.add("/c", CONTENT))
    assert Counter(job.state for job in jobs) == {"INDEXED": 1, "DEDUPED": 2}
    objects = [path for path in (tmp_path / "out" / "sha256").rglob("*") if path.is_file()]
    assert len(objects) == 1
    assert len(list(collection.tools.index.rows())) == 3


def test_the_same_manifest_again_fetches_nothing(make, server):
    lines = [server.add(f"/{number}", bytes([number]) * 50) for number in range(20)]
    assert {job.state for job in fetch(make(), *lines)} == {"INDEXED"}
    asked = len(server.log)
    assert {job.state for job in fetch(make(), *lines)} == {"INDEXED"}
    assert len(server.log) == asked


def test_what_is_cut_off_is_resumed(make, server):
    collection = make()
    (job,) = fetch(collection, server.add("/a", CONTENT, cut_after=[70_000]))
    assert (job.status, job.state) == ("DONE", "INDEXED")
    assert moves(collection, job) == ["LEASED", "HEAD_DONE", "STREAMING", "FINALIZED", "INDEXED"]
    assert [line.first for line in server.gets("/a")] == [0, 70_000]


def test_a_part_that_an_earlier_job_has_left_is_resumed_and_the_state_shows_it(make, server, tmp_path):
    collection = make()
    url = server.add("/a", CONTENT)
    (artifact,) = read_manifest([url])
    part = Part(collection.tools.content_store.part(artifact.key), collection.tools.boot)
    head = asyncio.run(collection.tools.client.head(url))
    part.path.write_bytes(CONTENT[:150_000])
    part.write(part.sidecar(head))
    (job,) = fetch(collection, url)
    assert job.state == "INDEXED"
    assert moves(collection, job) == ["LEASED", "HEAD_DONE", "RESUME_OK", "STREAMING", "FINALIZED", "INDEXED"]
    assert [line.first for line in server.gets("/a")] == [150_000]


@pytest.mark.parametrize(
    ("manners", "error_class"),
    [
        ({"head": 404, "statuses": [404] * 9}, "NOT_FOUND"),
        ({"head": 405, "statuses": [403] * 9}, "AUTH_DENIED"),
    ],
)
def test_a_file_that_cannot_be_had_fails_with_its_class_and_leaves_nothing(
    make, server, tmp_path, manners, error_class
):
    collection = make()
    (job,) = fetch(collection, server.add("/a", CONTENT, **manners))
    assert (job.status, job.state, job.failure["error_class"]) == ("ERROR", "FAILED", error_class)
    assert list((tmp_path / "out" / ".leasehold" / "staging").iterdir()) == []


def test_a_wrong_hash_never_becomes_a_file(make, server, tmp_path):
    collection = make()
    url = server.add("/a", CONTENT)
    line = f'{{"work_id":"w","artifact_id":"a","url":"{url}","sha256":"{"0" * 64}"}}'
    (job,) = fetch(collection, line)
    assert (job.state, job.failure["error_class"]) == ("FAILED", "HASH_MISMATCH")
    assert [path for path in (tmp_path / "out" / "sha256").rglob("*") if path.is_file()] == []
    assert list(collection.tools.index.rows()) == []


def test_a_database_has_one_folder_and_another_is_refused(dialect, request, tmp_path, server):
    url = request.getfixturevalue("postgres").create_database() if dialect == "postgres" else ""
    with closing(Collection(Settings(tmp_path / "first", url))) as first:
        fetch(first, server.add("/a", CONTENT))
    if url:
        with (
            closing(Collection(Settings(tmp_path / "second", url))) as second,
            pytest.raises(Misuse, match="another folder"),
        ):
            _ = second.tools
    (tmp_path / "first").rename(tmp_path / "moved")
    with closing(Collection(Settings(tmp_path / "moved", url))) as moved:
        assert [row.size for row in moved.tools.index.rows()] == [len(CONTENT)]


def test_a_worker_that_was_given_no_folder_names_what_it_needs(monkeypatch):
    monkeypatch.delenv("LEASEHOLD_DOWNLOAD_DIR", raising=False)
    with pytest.raises(Misuse, match="LEASEHOLD_DOWNLOAD_DIR"):
        settings_of_this_process()


def test_the_first_of_a_long_plan_are_there_for_workers_while_the_rest_is_planned(make):
    collection = make()
    lines = [f"http://localhost/{number}" for number in range(2 * PLAN_FIRST)]
    seen = []
    jobs = collection.plan(read_manifest(lines), lambda: seen.append(sum(collection.counts().values())))
    assert (len(jobs), seen) == (len(lines), [PLAN_FIRST, len(lines)])
