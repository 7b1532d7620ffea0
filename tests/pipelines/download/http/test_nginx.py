"""Against a real nginx, whose own log is the witness. Where it is installed; long runs insist on it."""

import gzip
import hashlib
import os
import random
from contextlib import closing
from http.client import HTTPConnection

import pytest

from leasehold.pipelines.download import read_manifest
from tests.pipelines.download.http.sync_client import CONTENT, SHA, failure_of, fetch, leave_a_part
from tests.support.http.nginx import Nginx
from tests.support.needs import NGINX, find_program
from tests.support.processes.fork_server import ROOT, start_module
from tests.support.wait import until

LARGE = random.Random(17).randbytes(2_500_000)
KILLS = 3


@pytest.fixture(params=[NGINX.param(find_program("nginx"))])
def nginx(request):
    with Nginx(request.param, rate=100_000) as made:
        made.add("paper.txt", CONTENT)
        yield made


@pytest.fixture
def client(make_client):
    return make_client(headers={"X-Secret": "mine"})


@pytest.mark.soak
def test_long_runs_have_an_nginx_to_ask():
    assert NGINX.is_there, NGINX.reason


def test_nginx_is_asked_for_the_file_itself_and_not_for_a_compressed_one(nginx, client, part):
    """It would compress everything: somebody else gets it so."""
    found = fetch(client, nginx.url("/paper.txt"), part)
    assert (found.sha256, found.media_type) == (SHA, "text/plain")
    assert {line.encoding for line in nginx.log} == {"identity"}
    with closing(HTTPConnection("127.0.0.1", nginx.first)) as other:
        other.request("GET", "/paper.txt", headers={"Accept-Encoding": "gzip"})
        assert gzip.decompress(other.getresponse().read()) == CONTENT


@pytest.mark.parametrize("folder", ["", "/undated", "/no-head"])
def test_nginx_sends_the_rest_of_a_file_that_is_still_the_same(nginx, client, part, folder):
    """By its tag, or by its date where it has none; and where HEAD is refused."""
    url = nginx.url(f"{folder}/paper.txt")
    leave_a_part(client, url, part, 123_456)
    found = fetch(client, url, part)
    assert (found.sha256, found.fetched) == (SHA, len(CONTENT) - 123_456)
    line = until(lambda: nginx.gets(f"{folder}/paper.txt")[-1:])[0]
    assert (line.status, line.first, line.sent) == (206, 123_456, len(CONTENT) - 123_456)
    assert line.if_range


@pytest.mark.parametrize("folder", ["/untagged", "/no-ranges"])
def test_nginx_without_a_validator_or_ranges_sends_it_all_again(nginx, client, part, folder):
    url = nginx.url(f"{folder}/paper.txt")
    leave_a_part(client, url, part, 123_456)
    assert fetch(client, url, part).fetched == len(CONTENT)


def test_nginx_sends_a_file_that_was_replaced_from_its_start(nginx, client, part):
    url = nginx.url("/paper.txt")
    leave_a_part(client, url, part, 123_456)
    head = client.head(url)
    changed = CONTENT[::-1]
    os.utime(nginx.add("paper.txt", changed), (1e9, 1e9))
    found = client.stream(url, head, part)
    assert (found.sha256, found.fetched) == (hashlib.sha256(changed).hexdigest(), len(CONTENT))


def test_nginx_refuses_a_range_behind_the_end_and_the_file_is_fetched_from_its_start(nginx, client, part):
    url = nginx.url("/paper.txt")
    head = client.head(url)
    part.path.write_bytes(bytes(400_000))
    part.write(part.sidecar(head))
    assert fetch(client, url, part).sha256 == SHA
    assert 416 in [line.status for line in nginx.gets("/paper.txt")]


def test_an_empty_file_of_nginx_is_a_file_also_where_head_is_refused(nginx, client, part):
    nginx.add("empty", b"")
    for path in ("/empty", "/no-head/empty"):
        assert fetch(client, nginx.url(path), part).size == 0
        part.remove()


def test_a_redirect_of_nginx_to_another_server_is_followed_without_own_headers(nginx, client, part):
    assert fetch(client, nginx.url("/elsewhere/paper.txt"), part).sha256 == SHA
    secrets = {(line.port, line.secret) for line in nginx.log}
    assert secrets == {(nginx.first, "mine"), (nginx.second, "")}


@pytest.mark.parametrize(
    ("path", "error_class", "retryable", "retry_after"),
    [
        ("/nothing", "NOT_FOUND", False, 0),
        ("/gone/", "NOT_FOUND", False, 0),
        ("/forbidden/a", "AUTH_DENIED", False, 0),
        ("/busy/a", "RATE_LIMITED", True, 120),
        ("/down/a", "UPSTREAM_UNAVAILABLE", True, 60),
        ("/ring/", "NOT_FOUND", False, 0),
    ],
)
def test_what_nginx_answers_instead_of_a_file_has_its_class(
    nginx, client, part, path, error_class, retryable, retry_after
):
    failure = failure_of(client, nginx.url(path), part)
    assert (failure.error_class, failure.retryable, failure.server_retry_after) == (error_class, retryable, retry_after)
    assert not part.path.exists()


def worker(settings, log):
    environment = {**os.environ, **settings.environment(), "PYTHONPATH": str(ROOT)}
    words = ["worker", "leasehold.pipelines.download"]
    return start_module("leasehold", *words, env=environment, stdout=log, stderr=log)


def test_s4_a_killed_worker_asks_nginx_for_nothing_that_is_on_disk_already(nginx, collection, tmp_path):
    nginx.add("large", LARGE)
    (artifact,) = read_manifest([nginx.url("/slow/large")])
    (job,) = collection.plan([artifact])
    part = collection.content_store.part(artifact.key)
    reached = [0]
    with (tmp_path / "log").open("wb") as log:
        for _ in range(KILLS):
            process = worker(collection.settings, log)
            until(lambda: size_of(part) > reached[-1] + 50_000, timeout=120)
            process.kill()
            process.wait()
            reached.append(size_of(part))
        nginx.hurry()
        process = worker(collection.settings, log)
        until(lambda: job.status.settled, timeout=120)
        process.terminate()
        assert process.wait() == 0
    assert (job.state, job.output["sha256"]) == ("INDEXED", hashlib.sha256(LARGE).hexdigest())
    until(lambda: len(nginx.gets("/slow/large")) == KILLS + 1)
    lines = nginx.gets("/slow/large")
    assert [line.first for line in lines] == reached, "what was on disk was fetched again, or left out"
    assert [line.status for line in lines] == [200] + [206] * KILLS
    assert {bool(line.if_range) for line in lines[1:]} == {True}
    assert lines[-1].first + lines[-1].sent == len(LARGE)


def size_of(path):
    return path.stat().st_size if path.exists() else 0
