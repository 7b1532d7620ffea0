"""Against starlette's own static files under uvicorn: resumed, replaced, refused, and killed in the middle."""

import hashlib
import os
import random

import pytest

from leasehold.model.failure.failure import classify
from leasehold.pipelines.download import read_manifest
from tests.pipelines.download.http.sync_client import CONTENT, SHA, fetch, leave_a_part
from tests.support.http.starlette import StarletteFiles
from tests.support.processes.fork_server import ROOT, start_module
from tests.support.wait import until

LARGE = random.Random(23).randbytes(3_000_000)
HOLDS = [500_000, 700_000, 300_000]


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "files"
    made.mkdir()
    (made / "paper.pdf").write_bytes(CONTENT)
    return made


@pytest.fixture
def server(folder):
    with StarletteFiles(folder) as made:
        yield made


def test_starlette_serves_a_file_that_is_fetched_whole(server, client, part):
    found = fetch(client, server.url("/paper.pdf"), part)
    assert (found.sha256, found.media_type) == (SHA, "application/pdf")


def test_starlette_sends_the_rest_of_a_file_that_is_still_the_same(server, client, part):
    leave_a_part(client, server.url("/paper.pdf"), part, 123_456)
    found = fetch(client, server.url("/paper.pdf"), part)
    assert (found.sha256, found.fetched) == (SHA, len(CONTENT) - 123_456)
    (line,) = server.gets("/paper.pdf")
    assert (line.status, line.first, bool(line.if_range)) == (206, 123_456, True)


def test_starlette_sends_a_file_that_was_replaced_from_its_start(server, client, part, folder):
    url = server.url("/paper.pdf")
    leave_a_part(client, url, part, 123_456)
    head = client.head(url)
    (folder / "paper.pdf").write_bytes(CONTENT[::-1])
    os.utime(folder / "paper.pdf", (1e9, 1e9))
    found = client.stream(url, head, part)
    assert (found.sha256, found.fetched) == (hashlib.sha256(CONTENT[::-1]).hexdigest(), len(CONTENT))


def test_starlette_refuses_a_range_behind_the_end_and_the_file_is_fetched_from_its_start(server, client, part):
    url = server.url("/paper.pdf")
    part.path.write_bytes(bytes(400_000))
    part.write(part.sidecar(client.head(url)))
    assert fetch(client, url, part).sha256 == SHA
    assert [line.status for line in server.gets("/paper.pdf")] == [416, 200]


def test_an_empty_file_of_starlette_is_a_file(server, client, part, folder):
    (folder / "empty").write_bytes(b"")
    assert fetch(client, server.url("/empty"), part).size == 0


def test_what_starlette_does_not_have_is_not_found(server, client, part):
    with pytest.raises(Exception, match="404") as raised:
        fetch(client, server.url("/nothing"), part)
    failure = classify(raised.value)
    assert (failure.error_class, failure.retryable) == ("NOT_FOUND", False)


def worker(settings, log):
    environment = {**os.environ, **settings.environment(), "PYTHONPATH": str(ROOT)}
    words = ["worker", "leasehold.pipelines.download"]
    return start_module("leasehold", *words, env=environment, stdout=log, stderr=log)


def test_s4_a_killed_worker_asks_starlette_for_nothing_that_is_on_disk_already(server, folder, collection, tmp_path):
    (folder / "large").write_bytes(LARGE)
    (artifact,) = read_manifest([server.url("/large")])
    (job,) = collection.plan([artifact])
    part = collection.content_store.part(artifact.key)
    reached = [0]
    server.holds = list(HOLDS)
    with (tmp_path / "log").open("wb") as log:
        for number in range(1, len(HOLDS) + 1):
            process = worker(collection.settings, log)
            until(lambda: len(server.held) == number, timeout=120)  # noqa: B023 — it is over before the next
            until(lambda: size_of(part) == server.held[-1].first + server.held[-1].sent, timeout=120)
            process.kill()
            process.wait()
            reached.append(size_of(part))
        process = worker(collection.settings, log)
        until(lambda: job.status.settled, timeout=120)
        process.terminate()
        assert process.wait() == 0
    assert (job.state, job.output["sha256"]) == ("INDEXED", hashlib.sha256(LARGE).hexdigest())
    lines = server.gets("/large")
    assert [line.first for line in lines] == reached, "what was on disk was fetched again, or left out"
    assert sum(line.sent for line in lines) == len(LARGE)
    assert [line.status for line in lines] == [200] + [206] * len(HOLDS)


def size_of(path):
    return path.stat().st_size if path.exists() else 0
