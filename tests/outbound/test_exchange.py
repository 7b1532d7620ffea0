"""One guarded request: limits on time and size, the proxy of the environment, and what is certain when it fails."""

import socket
import threading
from dataclasses import replace

import pytest

from leasehold.outbound import (
    AddressForbidden,
    BodyEnd,
    ExchangePolicy,
    NoResponse,
    NotConnected,
    Request,
    Target,
    any_address,
    exchange,
    proxy_for,
)
from tests.providers.listener import Listener, free_port
from tests.providers.messages import client_context, server_context
from tests.providers.receiver import Receiver, Response
from tests.support.http.proxy import unset_proxies

HELLO = Request("POST", {"Content-Type": "text/plain"}, b"hello")


@pytest.fixture(autouse=True)
def without_proxies(monkeypatch):
    unset_proxies(monkeypatch)


def policy(**options) -> ExchangePolicy:
    return replace(ExchangePolicy(seconds=30, body_bytes_max=1_000, permit=any_address), **options)


def ask(server, **options):
    return exchange(Target.parse(f"http://127.0.0.1:{server.port}/x"), HELLO, policy(**options))


def test_a_response_is_returned_whatever_its_status_and_a_redirect_is_not_followed():
    with Receiver(Response()) as other, Receiver(Response(307, b"there", {"Location": other.url})) as server:
        response = ask(server)
    assert (response.status, response.body, response.end) == (307, b"there", BodyEnd.COMPLETE)
    assert (server.requests[0].method, server.requests[0].path, server.requests[0].body) == ("POST", "/x", b"hello")
    assert other.requests == []


def test_only_public_addresses_are_connected_to_by_default():
    with Receiver(Response()) as server, pytest.raises(AddressForbidden, match=r"127\.0\.0\.1"):
        exchange(Target.parse(server.url), HELLO, ExchangePolicy(seconds=30, body_bytes_max=1_000))
    assert server.requests == []


@pytest.mark.parametrize(
    ("response", "end", "size"),
    [
        (Response(body=b"x" * 1_000), BodyEnd.COMPLETE, 1_000),
        (Response(body=b"x" * 1_001), BodyEnd.TOO_LONG, 1_000),
        (Response(body=b"x" * 3_000_000), BodyEnd.TOO_LONG, 1_000),
        (Response(body=b"xxx", headers={"Content-Length": "500"}), BodyEnd.BROKEN_OFF, 3),
    ],
)
def test_a_body_is_read_up_to_its_limit_and_its_end_is_known(response, end, size):
    with Receiver(response) as server:
        response = ask(server)
    assert (response.end, len(response.body)) == (end, size)


def test_a_body_that_comes_byte_by_byte_is_cut_off_at_the_deadline():
    with Dripping() as server:
        response = ask(server, seconds=1)
    assert (response.status, response.end) == (200, BodyEnd.TIMED_OUT)


def test_a_server_that_never_answers_may_have_processed_the_request():
    with Receiver(Response(hangs=True)) as server, pytest.raises(NoResponse) as failed:
        ask(server, seconds=1)
    assert failed.value.is_timeout


def test_a_server_that_cannot_be_reached_has_certainly_processed_nothing():
    target = Target.parse(f"http://127.0.0.1:{free_port()}/")
    with pytest.raises(NotConnected) as failed:
        exchange(target, HELLO, policy())
    assert not failed.value.is_timeout


def test_a_connection_that_is_not_accepted_is_given_up_after_its_own_limit():
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(8)]
        for each in waiting:
            each.settimeout(0)
            each.connect_ex(("127.0.0.1", port))
        with pytest.raises(NotConnected) as failed:
            exchange(Target.parse(f"http://127.0.0.1:{port}/"), HELLO, policy(connect_seconds=0.5))
        for each in waiting:
            each.close()
    assert failed.value.is_timeout


def test_a_certificate_that_is_not_trusted_is_for_the_operator_to_repair():
    with Receiver(Response(), server_context()) as server, pytest.raises(NotConnected) as failed:
        exchange(Target.parse(f"https://127.0.0.1:{server.port}/"), HELLO, policy())
    assert failed.value.needs_operator


def test_an_https_target_is_reached_through_the_proxy_of_the_environment(monkeypatch):
    with Receiver(Response(body=b"hi"), server_context()) as server, Tunnel(server.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:pass@127.0.0.1:{proxy.port}")
        target = Target.parse(f"https://hooks.example:{server.port}/x")
        response = exchange(target, HELLO, policy(use_proxy=True, context=client_context()))
    assert (response.status, response.body) == (200, b"hi")
    assert proxy.asked.startswith(f"CONNECT hooks.example:{server.port} HTTP/1.1\r\n".encode())
    assert b"\r\nProxy-Authorization: Basic dXNlcjpwYXNz\r\n" in proxy.asked
    assert b"hello" not in proxy.asked


def test_a_proxy_that_refuses_has_not_sent_the_request_on(monkeypatch):
    target = Target.parse("https://hooks.example/")
    with Refusing() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        with pytest.raises(NotConnected, match="answered 403"):
            exchange(target, HELLO, policy(use_proxy=True))


def test_a_proxy_is_chosen_by_scheme_and_not_for_what_is_exempt(monkeypatch):
    target = Target.parse("https://hooks.example/")
    assert proxy_for(target) is None
    monkeypatch.setenv("ALL_PROXY", "proxy.example:3128")
    found = proxy_for(target)
    assert found is not None
    assert (found.host, found.port) == ("proxy.example", 3128)
    assert proxy_for(Target.parse("https://localhost/")) is None
    assert proxy_for(Target.parse("http://127.0.0.1:8080/")) is None
    monkeypatch.setenv("NO_PROXY", ".example")
    assert proxy_for(target) is None


@pytest.mark.parametrize("url", ["socks5://proxy.example", "https://proxy.example", "http://", "http://[::1"])
def test_a_proxy_that_cannot_be_used_is_refused_and_never_passed_over(url, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", url)
    with pytest.raises(NotConnected) as failed:
        exchange(Target.parse("https://hooks.example/"), HELLO, policy(use_proxy=True))
    assert failed.value.needs_operator


class Dripping(Listener):
    """Answers with a head at once and with a body of one byte at a time."""

    def serve(self, connection):
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not self.closing.wait(0.05):
            connection.sendall(b"x")


class Refusing(Listener):
    """A proxy that connects to nobody."""

    def serve(self, connection):
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")


class Tunnel(Listener):
    """A proxy that connects whatever it is asked for to one port of this machine."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.asked = b""
        super().__init__()

    def serve(self, connection):
        self.asked = connection.recv(65_536)
        with socket.create_connection(("127.0.0.1", self._port)) as server:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=copy, args=[server, connection])
            back.start()
            copy(connection, server)
            back.join()


def copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while piece := source.recv(65_536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other side has closed
