"""What servers answer, and what it is taken for: every row of the failure table that HTTP can reach."""

import asyncio
import json
import socket
import threading
import time
from contextlib import suppress
from email.utils import formatdate

import psutil
import pytest

from leasehold import Transient
from leasehold.pipelines.download import read_manifest
from leasehold.pipelines.download.files.part import Part
from leasehold.pipelines.download.http.client import REDIRECTS_MAX
from tests.pipelines.download.http.sync_client import CONTENT, SHA, failure_of, fetch
from tests.support.db import rows
from tests.support.http.file_server import BLOCK, FileServer

STATUSES = [
    (400, "SCHEMA_INVALID", False),
    (401, "AUTH_DENIED", False),
    (402, "QUOTA_EXHAUSTED", False),
    (403, "AUTH_DENIED", False),
    (404, "NOT_FOUND", False),
    (407, "AUTH_DENIED", False),
    (408, "NETWORK_TIMEOUT", True),
    (409, "CONFLICT", True),
    (410, "NOT_FOUND", False),
    (416, "SCHEMA_INVALID", False),
    (421, "UPSTREAM_UNAVAILABLE", True),
    (425, "RATE_LIMITED", True),
    (429, "RATE_LIMITED", True),
    (451, "POLICY_REJECTED", False),
    (500, "UPSTREAM_ERROR", True),
    (501, "UPSTREAM_ERROR", True),
    (502, "UPSTREAM_UNAVAILABLE", True),
    (503, "UPSTREAM_UNAVAILABLE", True),
    (504, "UPSTREAM_UNAVAILABLE", True),
    (522, "UPSTREAM_UNAVAILABLE", True),
    (511, "AUTH_DENIED", False),
]


@pytest.mark.parametrize("head", [False, True], ids=["asked for the file", "asked what it is like"])
@pytest.mark.parametrize(("status", "error_class", "retryable"), STATUSES)
def test_a_status_has_its_class_whichever_question_it_answers(
    server, client, part, status, error_class, retryable, head
):
    url = server.add("/a", CONTENT, statuses=[status] * 2, head=status if head else 200)
    failure = failure_of(client, url, part)
    assert (failure.error_class, failure.retryable) == (error_class, retryable)
    assert str(status) in failure.message
    assert not part.path.exists()


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize("head", [False, True], ids=["asked for the file", "asked what it is like"])
def test_a_server_that_asks_for_patience_in_seconds_gets_it(server, client, part, status, head):
    url = server.add("/a", CONTENT, statuses=[status], head=status if head else 200, retry_after="120")
    assert failure_of(client, url, part).server_retry_after == 120


def test_a_server_that_asks_for_patience_until_a_date_gets_it_by_its_own_clock(server, client, part):
    """The answer's own date is the time of the request, so that a clock that goes wrong on one side does no harm."""
    until = formatdate(time.time() + 300, usegmt=True)
    url = server.add("/a", CONTENT, statuses=[503], retry_after=until)
    assert 200 < failure_of(client, url, part).server_retry_after <= 300


@pytest.mark.parametrize("asked", ["soon", "-5", "", "Thu, 01 Jan 1970 00:00:00 GMT", "1e9", "9" * 300])
def test_patience_that_makes_no_sense_does_no_harm(server, client, part, asked):
    url = server.add("/a", CONTENT, statuses=[503], retry_after=asked)
    failure = failure_of(client, url, part)
    assert (failure.error_class, failure.retryable) == ("UPSTREAM_UNAVAILABLE", True)
    assert failure.server_retry_after >= 0


def test_a_refusal_for_good_is_not_made_a_retry_by_asking_for_patience(server, client, part):
    url = server.add("/a", CONTENT, statuses=[404], retry_after="60")
    failure = failure_of(client, url, part)
    assert (failure.retryable, failure.server_retry_after) == (False, 0)


@pytest.mark.parametrize("moved", [301, 302, 303, 307, 308])
def test_every_kind_of_redirect_is_followed(server, client, part, moved):
    server.add("/file", CONTENT)
    url = server.add("/a", location="/file", moved=moved)
    assert fetch(client, url, part).sha256 == SHA


def chain(server, length):
    """Addresses that lead from one to the next, and to a file at last."""
    server.add("/0", CONTENT)
    for number in range(1, length + 1):
        url = server.add(f"/{number}", location=f"/{number - 1}")
    return url


def test_as_many_redirects_as_allowed_are_followed_and_not_one_more(server, client, part):
    assert fetch(client, chain(server, REDIRECTS_MAX), part).sha256 == SHA
    failure = failure_of(client, chain(server, REDIRECTS_MAX + 1), part)
    assert (failure.error_class, failure.retryable) == ("NOT_FOUND", False)


def test_redirects_in_a_ring_end_and_are_not_tried_again(server, client, part):
    server.add("/b", location="/a")
    failure = failure_of(client, server.add("/a", location="/b"), part)
    assert (failure.error_class, failure.retryable) == ("NOT_FOUND", False)
    assert len(server.log) == REDIRECTS_MAX + 1


def test_a_redirect_without_an_aim_is_given_up(server, client, part):
    failure = failure_of(client, server.add("/a", statuses=[302], head=405), part)
    assert (failure.error_class, failure.retryable) == ("NOT_FOUND", False)


@pytest.mark.parametrize("name", ["Authorization", "Cookie", "X-Api-Key"])
def test_own_headers_go_to_no_other_host_even_for_the_bytes(server, make_client, part, name):
    client = make_client(headers={name: "secret"})
    with FileServer() as other:
        aim = other.add("/file", CONTENT, cut_after=[70_000])
        url = server.add("/a", location=aim, wanted_headers={name.lower(): "secret"})
        failure_of(client, url, part)
        assert fetch(client, url, part).sha256 == SHA
        assert [line.status for line in other.gets("/file")] == [200, 206]
        assert not [line for line in other.log if name.lower() in line.headers]


def test_a_url_that_is_signed_again_each_time_is_still_the_same_url(server, client, part):
    """As with stores that redirect to an address that is good for a minute."""
    for number in range(4):
        server.add(f"/file?signature={number}", CONTENT, cut_after=[70_000] if number == 1 else [])
    url = server.add("/a", location="/file?signature=0")
    head = client.head(url)
    for number in (1, 2):
        server.add("/a", location=f"/file?signature={number}")
        with suppress(Transient):
            found = client.stream(url, head, part)
    assert (found.sha256, found.fetched) == (SHA, len(CONTENT) - 70_000)


def test_another_place_is_another_file_whatever_its_tag(server, client, part):
    server.add("/old", CONTENT[::-1], etag="tag", cut_after=[70_000])
    server.add("/new", CONTENT, etag="tag")
    url = server.add("/a", location="/old")
    failure_of(client, url, part)
    server.add("/a", location="/new")
    assert fetch(client, url, part).sha256 == SHA


def test_nobody_listening_is_tried_again(client, part):
    with FileServer() as gone:
        url = gone.add("/a", CONTENT)
    failure = failure_of(client, url, part)
    assert (failure.error_class, failure.retryable) == ("NETWORK_RESET", True)


def test_a_host_that_has_no_address_is_tried_again(client, part):
    failure = failure_of(client, "http://nobody.invalid/a", part)
    assert (failure.error_class, failure.retryable) == ("NETWORK_DNS", True)


def test_a_server_that_does_not_answer_is_a_time_out(server, make_client, part):
    url = server.add("/a", CONTENT, stall_head=True)
    failure = failure_of(make_client(timeout=0.2), url, part)
    assert (failure.error_class, failure.retryable) == ("NETWORK_TIMEOUT", True)


def test_a_stream_that_stalls_is_a_time_out_and_what_came_is_kept(server, make_client, part):
    url = server.add("/a", CONTENT, stall_after=[65_536])
    failure = failure_of(make_client(timeout=0.3), url, part)
    assert (failure.error_class, failure.retryable) == ("NETWORK_TIMEOUT", True)
    assert fetch(make_client(), url, part).sha256 == SHA
    assert [line.first for line in server.gets("/a")] == [0, 65_536]


def test_a_stream_of_crumbs_is_as_good_as_stalled(server, make_client, part):
    """Bytes do come, each time before the time is out; but a file would not be whole in a year."""
    url = server.add("/a", CONTENT, crumbs=4)
    failure = failure_of(make_client(timeout=0.6), url, part)
    assert (failure.error_class, failure.retryable) == ("NETWORK_TIMEOUT", True)


def test_a_truncated_body_is_a_line_that_broke_and_goes_on_from_there(server, client, part):
    url = server.add("/a", CONTENT, cut_after=[100_000])
    failure = failure_of(client, url, part)
    assert (failure.error_class, failure.retryable) == ("NETWORK_RESET", True)
    assert "100,000 of 300,000" in failure.message
    assert fetch(client, url, part).fetched == 200_000


def test_a_truncated_chunked_body_is_a_line_that_broke(server, client, part):
    url = server.add("/a", CONTENT, chunked=True, cut_after=[100_000])
    failure = failure_of(client, url, part)
    assert (failure.error_class, failure.retryable) == ("NETWORK_RESET", True)
    assert fetch(client, url, part).sha256 == SHA


def test_a_body_that_ends_with_its_connection_is_taken_whole(server, client, part):
    url = server.add("/a", CONTENT, ends_by_closing=True)
    assert fetch(client, url, part).sha256 == SHA


def test_a_body_that_ends_with_its_connection_too_early_is_no_file(server, client, part):
    """Nothing in the answer shows that it is short; the length from HEAD does."""
    url = server.add("/a", CONTENT, ends_by_closing=True, cut_after=[100_000])
    failure = failure_of(client, url, part)
    assert (failure.error_class, failure.retryable) == ("NETWORK_RESET", True)
    assert fetch(client, url, part).sha256 == SHA


def test_an_answer_without_ranges_to_a_question_with_one_is_taken_from_its_start(server, client, part):
    url = server.add("/a", CONTENT, cut_after=[100_000])
    failure_of(client, url, part)
    server.resources["/a"].ranges = False
    assert fetch(client, url, part).sha256 == SHA
    assert [(line.status, line.first) for line in server.gets("/a")] == [(200, 0), (200, 0)]


def test_a_file_that_changes_with_every_question_is_still_one_of_them_whole(server, client, part):
    for number in range(4):
        url = server.add("/a", CONTENT[number:], cut_after=[100_000])
        failure_of(client, url, part)
    url = server.add("/a", CONTENT)
    assert fetch(client, url, part).sha256 == SHA
    assert {line.first for line in server.gets("/a")} == {0}


def test_a_server_that_ignores_if_range_cannot_mix_two_files(server, client, part):
    """It sends the rest of another file; its own tag gives it away."""
    url = server.add("/a", CONTENT[::-1], cut_after=[100_000])
    head = client.head(url)
    with pytest.raises(Exception, match="100,000 of"):
        client.stream(url, head, part)
    server.add("/a", CONTENT, honours_if_range=False)
    assert client.stream(url, head, part).sha256 == SHA


@pytest.mark.parametrize("manners", [{"honours_range_end": False}, {"ranges": False}])
def test_where_head_is_refused_one_byte_is_asked_for_and_a_whole_file_is_not_read(server, client, manners):
    content = bytes(40_000_000)
    url = server.add("/a", content, head=405, **manners)
    head = client.head(url)
    assert head.length == len(content)
    assert server.gets("/a")[0].sent < len(content) / 2


def test_an_empty_file_is_a_file_also_where_head_is_refused(server, client, part):
    for manners in ({}, {"head": 405}, {"head": 405, "ranges": False}):
        url = server.add("/a", b"", **manners)
        assert fetch(client, url, part).size == 0
        part.remove()


def test_an_answer_that_is_no_http_is_a_line_that_broke(client, part):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=send_line, args=(listener, b"SSH-2.0-OpenSSH_9.2\r\n"))
        thread.start()
        failure = failure_of(client, f"http://127.0.0.1:{listener.getsockname()[1]}/a", part)
        thread.join()
    assert (failure.error_class, failure.retryable) == ("NETWORK_RESET", True)


def send_line(listener, words):
    client, _ = listener.accept()
    with client:
        client.recv(BLOCK)
        client.sendall(words)


def test_no_connection_stays_open_after_a_question_that_failed(server, make_client):
    url = server.add("/a", CONTENT, stall_head=True)
    with pytest.raises(TimeoutError) as raised:
        make_client(timeout=0.2).head(url)
    port = int(server.host.rpartition(":")[2])
    established = [one for one in psutil.Process().net_connections("tcp") if one.status == psutil.CONN_ESTABLISHED]
    assert [one for one in established if one.raddr.port == port] == [], f"while {raised.value} is held"


class Killed(BaseException):
    """The end of a process, as far as files can show it."""


class Dying(Part):
    """A part whose process dies right after its note was written."""

    def write(self, sidecar):
        super().write(sidecar)
        raise Killed


def test_a_process_that_dies_as_it_starts_again_leaves_nothing_of_the_other_file(server, client, part):
    """The bytes of the file that was there before must be gone when the note attributes them to the new one."""
    url = server.add("/a", CONTENT[::-1], cut_after=[100_000])
    failure_of(client, url, part)
    server.add("/a", CONTENT)
    with pytest.raises(Killed):
        fetch(client, url, Dying(part.path, "this boot"))
    assert fetch(client, url, part).sha256 == SHA


def test_a_wrong_hash_of_a_file_that_was_built_on_a_part_is_tried_once_more_from_the_start(collection, server):
    """The part may be to blame, and not the server."""
    url = server.add("/a", CONTENT)
    (artifact,) = read_manifest([json.dumps({"work_id": "w", "artifact_id": "a", "url": url, "sha256": SHA})])
    spoilt = Part(collection.tools.content_store.part(artifact.key), collection.tools.boot)
    spoilt.path.write_bytes(bytes(70_000))
    spoilt.write(spoilt.sidecar(asyncio.run(collection.tools.client.head(url))))
    (job,) = collection.plan([artifact])
    collection.app.drain(timeout=120)
    assert (job.state, job.output["sha256"]) == ("INDEXED", SHA)
    assert [line.first for line in server.gets("/a")] == [70_000, 0]


def test_a_busy_server_is_asked_again_after_its_retry_after_and_not_before(collection, server):
    (job,) = collection.plan(read_manifest([server.add("/a", CONTENT, statuses=[503, 429], retry_after="2")]))
    collection.app.drain(timeout=120)
    assert (job.state, job.output["sha256"]) == ("INDEXED", SHA)
    details = rows(collection.settings.database, "SELECT detail FROM event WHERE name = 'retried' ORDER BY id")
    retried = [json.loads(detail) for (detail,) in details]
    assert [one["error_class"] for one in retried] == ["UPSTREAM_UNAVAILABLE", "RATE_LIMITED"]
    assert all(one["delay_us"] >= 2_000_000 for one in retried)
