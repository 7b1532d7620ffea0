"""One connection: heads and bodies as servers send them, in whatever pieces they come."""

import asyncio
import hashlib
from contextlib import asynccontextmanager, suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leasehold import Permanent, Transient
from leasehold.pipelines.download.http.client import Client, Options
from leasehold.pipelines.download.http.response import HEAD_BYTES_MAX, ResponseReader


@asynccontextmanager
async def talking(*answers: bytes, ends: bool = False):
    """A server that sends a given answer to every request; yields its address and what it was asked."""
    asked: list[bytes] = []
    left = list(answers)

    lines = []

    async def serve(reader, writer):
        lines.append(writer.transport)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while left and (words := await reader.readuntil(b"\r\n\r\n")):
                asked.append(words)
                writer.write(left.pop(0))
                await writer.drain()
            if ends:
                writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/file", asked
        finally:
            for line in lines:
                line.abort()
            await asyncio.sleep(0)


async def fetched(client, url):
    """Fetch an address whole."""
    got = bytearray()
    body = await client.open(url)
    try:
        await body.copy_in(got.extend, lambda: False)
    finally:
        body.close()
    return bytes(got)


def fetch(*answers, ends=False, times=1, **options):
    async def run():
        client = Client(Options(**{"timeout": 20, **options}))
        async with talking(*answers, ends=ends) as (url, asked):
            found = [await fetched(client, url) for _ in range(times)]
            client.close()
            await asyncio.sleep(0)
            return found, asked

    return asyncio.run(run())


def test_a_body_of_a_known_length_is_read_to_its_end_and_its_connection_is_used_again():
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    found, asked = fetch(answer, answer, times=2)
    assert (found, len(asked)) == ([b"hello", b"hello"], 2)


def test_informational_responses_before_the_answer_are_skipped():
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    assert fetch(early + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")[0] == [b"ok"]


def test_a_body_without_a_length_ends_with_its_connection():
    assert fetch(b"HTTP/1.1 200 OK\r\n\r\nall there is", ends=True)[0] == [b"all there is"]
    assert fetch(b"HTTP/1.0 200 OK\r\n\r\n", ends=True)[0] == [b""]


def test_a_body_that_is_cut_off_is_not_taken_for_whole():
    for answer in (
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n",
    ):
        with pytest.raises(Transient) as raised:
            fetch(answer, ends=True)
        assert raised.value.error_class == "NETWORK_RESET"


def test_bytes_beyond_the_announced_length_are_not_taken_and_the_connection_is_not_reused():
    found, asked = fetch(
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nme",
        times=2,
    )
    assert (found, len(asked)) == ([b"ok", b"me"], 2)


@pytest.mark.parametrize(
    "head",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 999 What\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length : 4\r\nContent-Length: 9\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * HEAD_BYTES_MAX + b"\r\n\r\n",
    ],
)
def test_what_is_no_answer_is_refused(head):
    with pytest.raises((Permanent, ConnectionResetError)):
        fetch(head)


def test_bytes_that_come_before_anybody_wants_them_wait():
    content = bytes(range(256)) * 40_000

    async def run():
        client = Client(Options(timeout=20))
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\n\r\n".encode()
        async with talking(head + content) as (url, _):
            body = await client.open(url)
            await asyncio.to_thread(hashlib.pbkdf2_hmac, "sha256", b"", b"", 100_000)  # the buffer fills meanwhile
            got = bytearray()
            await body.copy_in(got.extend, lambda: False)
            body.close()
            client.close()
            await asyncio.sleep(0)
            return bytes(got)

    assert asyncio.run(run()) == content


def test_a_sink_that_fails_ends_the_exchange_with_its_error():
    def full(_):
        raise OSError(28, "no space left")

    async def run():
        client = Client(Options(timeout=20))
        async with talking(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello") as (url, _):
            body = await client.open(url)
            try:
                await body.copy_in(full, lambda: False)
            finally:
                body.close()

    with pytest.raises(OSError, match="no space left"):
        asyncio.run(run())


def test_line_breaks_in_an_address_or_a_header_never_reach_the_server():
    with pytest.raises(Permanent):
        fetch(b"HTTP/1.1 200 OK\r\n\r\n", headers={"X": "a\r\nHost: b"})


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def response_of(sent: bytes, cuts: list[int], sink) -> ResponseReader:
    """Feed a response in pieces of these sizes, and give its body to a sink as soon as there is a head."""
    response, number, started = ResponseReader(), 0, False
    while sent:
        size = cuts[number % len(cuts)]
        number += 1
        response.feed(memoryview(sent[:size]))
        sent = sent[size:]
        if response.head is not None and not started:
            response.start_body(sink)
            started = True
    return response


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.lists(st.integers(1, 30), min_size=1, max_size=8))
def test_chunks_are_put_together_wherever_they_are_torn(parts, cuts):
    sent = b"".join(b"%x;name=value\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\nTrailer: x\r\n\r\n"
    got = bytearray()
    response = response_of(CHUNKED + sent, cuts, got.extend)
    assert (bytes(got), response.is_complete, response.has_surplus) == (b"".join(parts), True, False)


@given(st.binary(max_size=90), st.binary(max_size=9), st.lists(st.integers(1, 30), min_size=1, max_size=8))
@example(b"", b"\n", [30])
def test_a_body_of_a_known_length_ends_there_wherever_it_is_torn(content, more, cuts):
    got = bytearray()
    sent = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content + more)
    response = response_of(sent, cuts, got.extend)
    assert (bytes(got), response.is_complete) == (content, True)
    if more.strip(b"\r\n") or not more:  # the parser passes over empty lines between two responses
        assert response.has_surplus == bool(more)


def test_what_is_left_of_the_last_answer_is_not_taken_for_the_next_one():
    late = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nof a HEAD"  # though HEAD has no body

    async def run():
        client = Client(Options(timeout=20))
        async with talking(late, late, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") as (url, _):
            await client.head(url)
            found = await fetched(client, url)
            client.close()
            await asyncio.sleep(0)
            return found

    assert asyncio.run(run()) in (b"of a HEAD", b"ok")


def test_a_partial_response_without_a_range_request_is_refused():
    with pytest.raises(Transient, match="without a range request"):
        fetch(b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/*\r\nContent-Length: 2\r\n\r\nok")


@pytest.mark.parametrize(
    "line", [b"1\r\nab\r\n", b"zz\r\n", b"-1\r\n", b"\r\n", b"1" * 20 + b"\r\n", b"1;" + b"a" * HEAD_BYTES_MAX]
)
def test_an_invalid_chunk_is_refused(line):
    with pytest.raises(Transient):
        response_of(CHUNKED + line, [len(CHUNKED), len(line)], lambda _: None)


def test_trailers_without_an_end_are_refused():
    with pytest.raises(Transient):
        response_of(CHUNKED + b"0\r\nX: " + b"a" * 2 * HEAD_BYTES_MAX, [30_000], lambda _: None)


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_headers_are_read_whatever_their_case_and_twice_is_a_list(end):
    lines = [b"HTTP/1.1 206 Partial Content", b'ETag: "a"', b"X-Two: 1", b"x-two: 2", b"Connection: close", b"", b""]
    response = ResponseReader()
    response.feed(memoryview(end.join(lines)))
    assert response.head is not None
    assert (response.head.status_code, response.head.headers["etag"]) == (206, '"a"')
    assert response.head.headers["x-two"] == "1, 2"
    assert not response.head.keep_alive
