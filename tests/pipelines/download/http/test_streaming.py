"""Bytes from servers that misbehave: resumed where that is right, from the start where it is not, and never wrong."""

import fcntl
import hashlib
import random

import pytest
from msgspec.structs import replace

from leasehold import Permanent, Transient
from leasehold.pipelines.download.fetch import check
from leasehold.pipelines.download.files.content_store import hash_of
from leasehold.pipelines.download.files.part import Part, Sidecar
from leasehold.pipelines.download.files.writer import AT_ONCE_BYTES, STEP_BYTES, SYNC_BYTES
from leasehold.pipelines.download.http.response import UnexpectedStatus
from tests.pipelines.download.http.sync_client import CONTENT, SHA, fetch
from tests.support.http.file_server import FileServer


def fetch_on(client, url, part, times=5):
    """Fetch as a worker does: again after what can be tried again."""
    for _ in range(times):
        try:
            return fetch(client, url, part)
        except (Transient, ConnectionError, TimeoutError):
            continue
    raise AssertionError("it was never whole")


def test_a_file_is_fetched_whole_and_hashed_on_the_way(server, client, part):
    url = server.add("/a", CONTENT)
    found = fetch(client, url, part)
    assert (found.sha256, found.size, found.fetched) == (SHA, len(CONTENT), len(CONTENT))
    assert hash_of(part.path) == (SHA, len(CONTENT))
    assert [line.method for line in server.log] == ["HEAD", "GET"]


def test_what_was_cut_off_goes_on_where_it_stopped_and_no_byte_is_fetched_twice(server, client, part):
    url = server.add("/a", CONTENT, cut_after=[70_000, 1, 100_000])
    assert fetch_on(client, url, part).sha256 == SHA
    lines = server.gets("/a")
    assert [line.first for line in lines] == [0, 70_000, 70_001, 170_001]
    assert sum(line.sent for line in lines) == len(CONTENT)


def test_a_large_file_is_hashed_on_threads_that_follow_and_goes_on_after_a_cut_all_the_same(server, client, part):
    content = random.Random(8).randbytes(4 * AT_ONCE_BYTES + 1)
    url = server.add("/a", content, cut_after=[AT_ONCE_BYTES + STEP_BYTES + 7, 100, 2 * AT_ONCE_BYTES])
    found = fetch_on(client, url, part)
    assert (found.sha256, found.size) == (hashlib.sha256(content).hexdigest(), len(content))
    lines = server.gets("/a")
    assert sum(line.sent for line in lines) == len(content)


@pytest.mark.parametrize("manners", [{"ranges": False}, {"etag": None}, {"etag": "W/weak"}])
def test_without_ranges_or_a_validator_it_starts_from_the_beginning(server, client, part, manners):
    url = server.add("/a", CONTENT, cut_after=[70_000], **manners)
    assert fetch_on(client, url, part).sha256 == SHA
    assert [line.first for line in server.gets("/a")] == [0, 0]


def test_a_date_is_a_validator_where_there_is_no_strong_tag(server, client, part):
    url = server.add("/a", CONTENT, cut_after=[70_000], etag="W/weak", modified=1e9)
    assert fetch_on(client, url, part).sha256 == SHA
    assert [line.first for line in server.gets("/a")] == [0, 70_000]


def test_a_file_that_changed_meanwhile_is_fetched_from_the_start(server, client, part):
    url = server.add("/a", CONTENT[::-1], cut_after=[70_000])
    with pytest.raises(Transient):
        fetch(client, url, part)
    server.add("/a", CONTENT)
    assert fetch(client, url, part).sha256 == SHA
    assert server.gets("/a")[-1].first == 0


def test_a_file_that_changes_between_head_and_get_is_taken_as_the_get_has_it(server, client, part):
    url = server.add("/a", CONTENT[:1000], cut_after=[500])
    with pytest.raises(Transient):
        fetch(client, url, part)
    head = client.head(url)
    server.add("/a", CONTENT)
    assert client.stream(url, head, part).sha256 == SHA


def test_a_part_that_is_whole_already_is_not_fetched_again(server, client, part):
    url = server.add("/a", CONTENT)
    fetch(client, url, part)
    assert fetch(client, url, part).fetched == 0
    assert len(server.gets("/a")) == 1


def test_a_part_that_is_complete_by_its_own_note_is_not_fetched_again_though_head_lacks_facts(server, client, part):
    """Killed after the last byte: HEAD returned neither length nor validator, GET both."""
    url = server.add("/a", CONTENT)
    fetch(client, url, part)
    vague = replace(client.head(url), length=None, etag=None)
    found = client.stream(url, vague, part)
    assert (found.sha256, found.fetched) == (SHA, 0)
    assert [line.status for line in server.gets("/a")] == [200, 416]


def test_a_file_that_became_shorter_is_no_reason_to_give_up(server, client, part):
    url = server.add("/a", CONTENT, cut_after=[200_000])
    with pytest.raises(Transient):
        fetch(client, url, part)
    server.add("/a", CONTENT[:1000], etag=server.resources["/a"].etag)
    head = client.head(url)
    part.write(Sidecar(head.url, head.validator, head.length, 0, "this boot"))
    assert client.stream(url, head, part).size == 1000


def test_a_chunked_file_without_a_length_is_fetched_and_a_torn_one_is_not_taken_for_whole(server, client, part):
    url = server.add("/a", CONTENT, chunked=True, cut_after=[100_000])
    assert fetch_on(client, url, part).sha256 == SHA


def test_after_another_boot_only_what_was_synced_is_built_on(server, client, tmp_path):
    url = server.add("/a", CONTENT, cut_after=[200_000])
    before = Part(tmp_path / "key.part", "an earlier boot")
    with pytest.raises(Transient):
        fetch(client, url, before)
    head = client.head(url)
    assert before.resumable_bytes(head) == 200_000
    assert Part(tmp_path / "key.part", "this boot").resumable_bytes(head) == 0


def test_the_answer_to_a_range_need_not_repeat_the_headers_of_the_whole_file(server, client, tmp_path):
    """A 206 without Last-Modified must not cost the note its validator: the next cut would begin at byte 0."""
    content = random.Random(4).randbytes(SYNC_BYTES + 2_000_000)
    cuts = [500_000, SYNC_BYTES + 500_000]
    url = server.add("/a", content, etag=None, modified=1e9, repeats_headers=False, cut_after=cuts)
    part = Part(tmp_path / "key.part", "this boot")
    assert fetch_on(client, url, part).sha256 == hashlib.sha256(content).hexdigest()
    assert [line.first for line in server.gets("/a")] == [0, 500_000, SYNC_BYTES + 1_000_000]


def test_a_length_that_was_noted_long_ago_is_requested_again_before_a_file_is_refused(server, client, part):
    url = server.add("/a", CONTENT[:1000], etag=None)
    head = client.head(url)
    server.add("/a", CONTENT, etag=None, chunked=True)
    assert client.stream(url, head, part).sha256 == SHA


def test_a_torn_note_makes_the_part_worthless(server, client, part):
    url = server.add("/a", CONTENT, cut_after=[70_000])
    with pytest.raises(Transient):
        fetch(client, url, part)
    part.path.with_suffix(".json").write_text('{"url": "ht')
    assert fetch(client, url, part).sha256 == SHA
    assert server.gets("/a")[-1].first == 0


@pytest.mark.parametrize("lie", ["bytes 5-299999/300000", "bytes 0-299999/300000", "lines 70000-1/2", "nonsense"])
def test_a_part_that_begins_elsewhere_is_refused(server, client, part, lie):
    url = server.add("/a", CONTENT, cut_after=[70_000])
    with pytest.raises(Transient):
        fetch(client, url, part)
    server.resources["/a"].lies = {"Content-Range": lie}
    server.resources["/a"].head = 405
    server.resources["/a"].head = 200
    with pytest.raises(Transient, match="were requested"):
        client.open(url, 70_000, client.head(url).validator)


def test_a_wrong_hash_is_refused_for_good():
    with pytest.raises(Permanent) as refused:
        check(fetched(), "0" * 64)
    assert refused.value.error_class == "HASH_MISMATCH"
    check(fetched(), SHA)
    check(fetched(), None)


def fetched():
    from leasehold.pipelines.download.fetch import Streamed

    return Streamed(SHA, 1, 1, None, None, None, "https://example.org/")


def test_where_head_is_refused_a_request_for_the_first_byte_returns_the_same(server, client):
    for status in (403, 404, 405, 501):
        url = server.add(f"/{status}", CONTENT, head=status)
        head = client.head(url)
        assert (head.length, head.takes_ranges, head.etag) == (len(CONTENT), True, f'"{SHA[:12]}"')


@pytest.mark.parametrize("status", [401, 403, 404, 410, 429, 500, 503])
def test_an_answer_that_is_no_file_carries_its_status_and_its_patience(server, client, status):
    url = server.add("/a", CONTENT, statuses=[status], retry_after="7")
    with pytest.raises(UnexpectedStatus) as answered:
        client.open(url)
    assert answered.value.response.status_code == status
    assert answered.value.response.headers["retry-after"] == "7"


def test_redirects_are_followed_and_own_headers_stay_with_the_first_host(server, make_client):
    with FileServer() as other:
        aim = other.add("/file", CONTENT)
        url = server.add("/a", location=aim, wanted_headers={"authorization": "Bearer secret"})
        client = make_client(headers={"Authorization": "Bearer secret"})
        assert client.head(url).url == aim
        assert "authorization" not in other.log[0].headers


def test_a_redirect_on_the_same_host_keeps_the_headers(server, make_client):
    wanted = {"authorization": "Bearer secret"}
    server.add("/file", CONTENT, wanted_headers=wanted)
    url = server.add("/a", location="/file", wanted_headers=wanted)
    client = make_client(headers={"Authorization": "Bearer secret"})
    assert client.head(url).length == len(CONTENT)


def test_a_redirect_whose_place_is_not_escaped_is_followed_as_utf_8_or_byte_by_byte(server, client):
    server.add("/Gr%C3%BC%C3%9Fe.pdf", CONTENT)
    url = server.add("/a", location="/Grüße.pdf".encode().decode("latin-1"))
    assert client.head(url).length == len(CONTENT)
    server.add("/%C3%A9", CONTENT[:9])
    assert client.head(server.add("/b", location="/é")).length == 9  # latin-1, as nothing else can be


@pytest.mark.parametrize("location", ["/a", "ftp://example.org/", "file:///etc/passwd", "http://user:pw@example.org/"])
def test_a_redirect_that_leads_nowhere_is_given_up(server, client, location):
    url = server.add("/a", location=location)
    with pytest.raises(Permanent) as refused:
        client.head(url)
    assert refused.value.error_class == "NOT_FOUND"


def test_a_file_larger_than_allowed_is_refused_by_its_length_or_by_its_bytes(server, make_client, part):
    client = make_client(bytes_max=100_000)
    with pytest.raises(Permanent, match="100,000"):
        client.head(server.add("/a", CONTENT))
    url = server.add("/b", CONTENT, chunked=True)
    with pytest.raises(Permanent, match="100,000"):
        fetch(client, url, part)


def test_an_encoding_that_nobody_asked_for_is_refused(server, client):
    url = server.add("/a", CONTENT, headers={"Content-Encoding": "gzip"})
    with pytest.raises(Permanent, match="identity"):
        client.open(url)
    assert server.log[-1].headers["accept-encoding"] == "identity"


def test_a_stream_that_stalls_ends_in_a_time_out(server, make_client, part):
    client = make_client(timeout=0.3)
    url = server.add("/a", CONTENT, stall_after=[70_000])
    with pytest.raises(TimeoutError):
        fetch(client, url, part)
    assert fetch(client, url, part).sha256 == SHA


def test_connections_are_used_again_and_a_closed_one_is_replaced(server, client, part):
    url = server.add("/a", CONTENT)
    for _ in range(3):
        fetch(client, url, part)
        part.remove()
    assert len(server.log) == 6


def test_a_part_that_an_attempt_before_still_writes_to_is_left_to_it(server, client, part):
    url = server.add("/a", CONTENT)
    part.path.parent.mkdir(parents=True, exist_ok=True)
    with part.path.open("wb") as theirs:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        theirs.write(b"theirs")
        theirs.flush()
        with pytest.raises(Transient, match="still being written"):
            fetch(client, url, part)
        assert part.path.read_bytes() == b"theirs"
    assert fetch(client, url, part).sha256 == SHA


def test_a_users_own_header_is_not_sent_together_with_the_one_that_a_resume_needs(server, make_client, part):
    url = server.add("/a", CONTENT, cut_after=[70_000])
    client = make_client(headers={"If-Range": '"of another file"'})
    assert fetch_on(client, url, part).sha256 == SHA
    assert [line.first for line in server.gets("/a")] == [0, 70_000]
