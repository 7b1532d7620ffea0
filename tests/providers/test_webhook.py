"""Letters to a real HTTP server: what each answer means, and that a lost answer is never taken for a no."""

import hashlib
import hmac
import json
import socket

import pytest

from leasehold.errors import OptionInvalid
from leasehold.model.delivery import Absent, Message, NotSent, Refused, Sent, Unknown
from leasehold.outbound import Deadline, NotConnected
from leasehold.providers import MaybeSent, Webhook
from tests.providers.listener import Listener, free_port
from tests.providers.messages import client_context, sample_message, server_context
from tests.providers.receiver import Receiver, Response

TOKEN = sample_message().token
SHARED = "known to two"


def hook(receiver, path="/letters", **options) -> Webhook:
    return Webhook(receiver.url + path, **{"allow_private": True} | options)


def here(url, context) -> Webhook:
    return Webhook(url, allow_private=True, resolver=lambda *_: ["127.0.0.1"], context=context)


def test_a_message_is_posted_as_canonical_json_under_its_token():
    with Receiver(Response(202, b'{"id": "m-1"}')) as receiver:
        assert hook(receiver, "/letters?team=a%20b").send(sample_message()) == Sent("m-1")
    [request] = receiver.requests
    assert (request.method, request.path) == ("POST", "/letters?team=a%20b")
    assert request.headers["Idempotency-Key"] == TOKEN
    assert request.headers["Host"] == f"127.0.0.1:{receiver.port}"
    assert request.body == (
        b'{"message":{"text":"Three findings.\\n","title":"Review of change 17"},'
        b'"recipient":"ada@example.org","subject":"change-17","version":3}'
    )


def test_a_message_is_signed_with_the_secret_and_carries_the_headers_given():
    with Receiver(Response()) as receiver:
        options = {"secret": SHARED, "header": "X-Once", "headers": {"Authorization": "Bearer abcdefgh"}}
        hook(receiver, **options).send(sample_message())
    [request] = receiver.requests
    expected = hmac.new(SHARED.encode(), request.body, hashlib.sha256).hexdigest()
    assert request.headers["X-Leasehold-Signature"] == f"sha256={expected}"
    assert request.headers["X-Once"] == TOKEN
    assert request.headers["Authorization"] == "Bearer abcdefgh"


@pytest.mark.parametrize(
    ("response", "notification_id"),
    [
        (Response(200, b'{"id": 17}'), "17"),
        (Response(200, b"taken", {"X-Message-Id": "h-1"}), "h-1"),
        (Response(201, b"", {"Location": "/letters/9"}), "/letters/9"),
        (Response(204, b""), TOKEN),
        (Response(200, b'{"id": true}'), TOKEN),
        (Response(200, b"[" * 60_000), TOKEN),
        (Response(200, b'{"id": "big"}' + b" " * 200_000), TOKEN),
        (Response(200, b'{"id": "short"}', {"Content-Length": "500"}), "short"),
        (Response(409, b"", {"Idempotency-Key": TOKEN}), TOKEN),
        (Response(409, json.dumps({"token": TOKEN, "id": "m-1"}).encode()), "m-1"),
    ],
)
def test_a_yes_is_a_yes_whatever_its_body_is(response, notification_id):
    with Receiver(response) as receiver:
        assert hook(receiver).send(sample_message()) == Sent(notification_id)


@pytest.mark.parametrize(
    ("response", "seconds"),
    [
        (Response(429, headers={"Retry-After": "120"}), 120),
        (Response(429, headers={"Retry-After": "99999999999999999999"}), 86_400),
        (Response(429, headers={"Retry-After": "soon"}), 0),
        (Response(429, headers={"Retry-After": "-5"}), 0),
        (Response(429), 0),
        (Response(503, headers={"Retry-After": "7"}), 7),
        (Response(408), 0),
        (Response(425), 0),
    ],
)
def test_a_receiver_that_asks_to_wait_is_asked_again_after_that_time(response, seconds):
    """S14: nothing was processed, so the message waits, as long as the receiver wants."""
    with Receiver(response) as receiver, pytest.raises(NotSent) as caught:
        hook(receiver).send(sample_message())
    assert caught.value.server_retry_after == seconds


def test_a_date_to_wait_for_counts_from_the_receivers_own_clock():
    later = {"Retry-After": "Sun, 06 Nov 2094 08:50:37 GMT", "Date": "Sun, 06 Nov 2094 08:49:37 GMT"}
    with slow_down(later) as receiver, pytest.raises(NotSent) as caught:
        Webhook(f"http://127.0.0.1:{receiver.port}/", allow_private=True).send(sample_message())
    assert caught.value.server_retry_after == 60


@pytest.mark.parametrize("status", [400, 403, 404, 405, 410, 413, 422, 451])
def test_a_no_to_the_message_refuses_that_message(status):
    """S14: a permanent refusal fails that row alone."""
    with Receiver(Response(status, b"nobody")) as receiver, pytest.raises(Refused, match=f"{status}: nobody"):
        hook(receiver).send(sample_message())


def test_a_credential_that_is_not_accepted_fails_no_row():
    with Receiver(Response(401)) as receiver, pytest.raises(NotSent) as caught:
        hook(receiver).send(sample_message())
    assert caught.value.retry_after >= 60


@pytest.mark.parametrize("status", [500, 502, 503, 504, 550, 599, 302, 303, 409])
def test_an_answer_that_can_follow_the_work_leaves_the_message_in_doubt(status):
    """S14: a proxy answers so when the receiver behind it took the message and died."""
    with Receiver(Response(status)) as receiver, pytest.raises(MaybeSent):
        hook(receiver).send(sample_message())


@pytest.mark.parametrize("status", [301, 307, 308])
def test_a_redirect_is_not_followed_and_the_error_names_what_to_configure(status):
    with Receiver(Response()) as other:
        elsewhere = Response(status, headers={"Location": other.url})
        with Receiver(elsewhere) as receiver, pytest.raises(Refused, match="redirects are not followed"):
            hook(receiver).send(sample_message())
    assert other.requests == []


@pytest.mark.parametrize("response", [Response(drops=True), Response(hangs=True)])
def test_a_receiver_that_reads_the_message_and_does_not_answer_leaves_it_in_doubt(response):
    """S14: it accepted the request and dropped the connection, or fell silent."""
    with Receiver(response) as receiver, pytest.raises(MaybeSent):
        hook(receiver, timeout=2 if response.hangs else 60).send(sample_message())
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    "answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 2xx\r\n\r\n", b"HTTP/1.1 200 " + b"x" * 70_000]
)
def test_an_answer_that_cannot_be_read_leaves_the_message_in_doubt(answer):
    with Raw(answer) as receiver, pytest.raises(MaybeSent):
        Webhook(f"http://127.0.0.1:{receiver.port}/", allow_private=True).send(sample_message())


def test_a_receiver_that_sends_a_byte_now_and_then_cannot_hold_a_worker():
    with Dripping() as receiver, pytest.raises(MaybeSent):
        Webhook(f"http://127.0.0.1:{receiver.port}/", allow_private=True, timeout=2).send(sample_message())


def test_a_receiver_that_cannot_be_reached_has_certainly_not_taken_it():
    with pytest.raises(NotSent):
        Webhook(f"http://127.0.0.1:{free_port()}/", allow_private=True).send(sample_message())
    with pytest.raises(NotSent):
        Webhook("https://hooks.invalid/").send(sample_message())


def test_an_answer_that_breaks_off_after_its_yes_is_a_yes():
    start = b"HTTP/1.1 200 OK\r\nX-Message-Id: h-1\r\nTransfer-Encoding: chunked\r\n\r\nzz"
    with Raw(start) as receiver:
        provider = Webhook(f"http://127.0.0.1:{receiver.port}/", allow_private=True)
        assert provider.send(sample_message()) == Sent("h-1")


def test_a_secret_that_a_receiver_repeats_is_not_in_the_reason():
    with Receiver(Response(400, b"x" * 495 + SHARED.encode())) as receiver, pytest.raises(Refused) as caught:
        hook(receiver, secret=SHARED).send(sample_message())
    assert SHARED[:5] not in str(caught.value)


def test_a_timeout_before_anything_was_sent_means_not_sent():
    with socket.socket() as connection, pytest.raises(NotConnected), Deadline(0).guard(connection):
        raise AssertionError("nothing may be sent")


def test_a_message_goes_by_tls_only_to_the_host_that_the_certificate_names():
    with Receiver(Response(), server_context()) as receiver:
        for host, context in [("other.example", client_context()), ("hooks.example", None)]:
            with pytest.raises(NotSent, match="certificate verify failed"):
                here(f"https://{host}:{receiver.port}/", context).send(sample_message())
        here(f"https://hooks.example:{receiver.port}/", client_context()).send(sample_message())
    assert [request.headers["Host"] for request in receiver.requests] == [f"hooks.example:{receiver.port}"]


def test_a_handshake_that_fails_has_certainly_sent_nothing():
    with Raw(b"") as receiver, pytest.raises(NotSent, match="TLS"):
        Webhook(f"https://127.0.0.1:{receiver.port}/", allow_private=True).send(sample_message())


@pytest.mark.parametrize(
    ("response", "found"),
    [
        (Response(200, b'{"id": "m-1"}'), Sent("m-1")),
        (Response(404), Absent()),
        (Response(200, b"{}"), Unknown),
        (Response(410), Unknown),
        (Response(500), Unknown),
        (Response(401), Unknown),
        (Response(302, headers={"Location": "/"}), Unknown),
        (Response(drops=True), Unknown),
    ],
)
def test_a_look_up_returns_only_what_the_receiver_knows_for_certain(response, found):
    """S14: what a provider cannot answer becomes in doubt."""
    with Receiver(response) as receiver:
        answer = hook(receiver, lookup_url=receiver.url + "/letters/{token}").find(sample_message(), None)
    assert answer == found or type(answer) is found
    assert [(request.method, request.path) for request in receiver.requests] == [("GET", f"/letters/{TOKEN}")]


def test_a_token_cannot_change_the_path_of_a_look_up():
    strange = Message("s", "r", 1, {}, "../a?b#c d/é")
    with Receiver(Response(404)) as receiver:
        hook(receiver, lookup_url=receiver.url + "/letters/{token}").find(strange, None)
    assert receiver.requests[0].path == "/letters/..%2Fa%3Fb%23c%20d%2F%C3%A9"


def test_without_a_look_up_only_a_promise_to_deduplicate_makes_sending_again_safe():
    """S14: an idempotent receiver takes a token once, so the same message may be sent again."""
    assert isinstance(Webhook("https://hooks.example/").find(sample_message(), None), Unknown)
    assert Webhook("https://hooks.example/", idempotent=True).find(sample_message(), None) == Absent()


def test_a_message_that_is_no_json_or_has_a_strange_token_is_refused_unsent():
    with Receiver(Response()) as receiver:
        for strange in (
            sample_message(text=float("nan")),
            Message("s", "r", 1, {}, "a\r\nX-Evil: 1"),
            Message("s", "r", 1, {}, ""),
        ):
            with pytest.raises(Refused):
                hook(receiver).send(strange)
    assert receiver.requests == []


@pytest.mark.parametrize(
    "options",
    [
        {"headers": {"X-A": "a\r\nX-B: b"}},
        {"headers": {"X-A\n": "a"}},
        {"headers": {"X-A": "ä"}},
        {"headers": {"host": "other.example"}},
        {"headers": {"idempotency-key": "1"}},
        {"header": "Content-Length"},
        {"header": "X A"},
        {"lookup_url": "https://hooks.example/letters"},
        {"lookup_url": "ftp://hooks.example/{token}"},
        {"timeout": -1},
    ],
)
def test_options_that_could_forge_a_request_are_refused_at_once(options):
    with pytest.raises(OptionInvalid):
        Webhook("https://hooks.example/", **options)


def test_a_webhook_shows_neither_its_secret_nor_the_path_that_may_be_one():
    shown = repr(
        Webhook("https://hooks.example/T0/B0/xyzzy", secret=SHARED, headers={"Authorization": "Bearer abc123"})
    )
    assert shown == "Webhook('https://hooks.example/…')"


class Raw(Listener):
    """Answers every connection with the same bytes and hangs up."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        super().__init__()

    def serve(self, connection):
        connection.recv(65_536)
        connection.sendall(self._answer)


def slow_down(headers) -> Raw:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return Raw(f"HTTP/1.1 429 Slow down\r\n{lines}Content-Length: 0\r\n\r\n".encode())


class Dripping(Listener):
    """Sends one byte of its first line after another, each in time for a time-out that starts again."""

    def serve(self, connection):
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 ")
        while not self.closing.wait(0.05):
            connection.sendall(b" ")
