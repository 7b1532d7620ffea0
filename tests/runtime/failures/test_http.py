"""Errors of the network, met for real with three HTTP clients: time-outs, resets, names, answers, certificates."""

import asyncio
import contextlib
import json
import socket
import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from http.client import HTTPConnection, IncompleteRead
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest
import urllib3

from leasehold.model.failure.failure import Failure, classify

SHORT = 0.05  # seconds until a client gives up on a silent server


def failure_of(act: Callable[[], object]) -> Failure:
    """Classify what a function raises, and see that it can be stored."""
    try:
        act()
    except Exception as error:  # noqa: BLE001 — any error is the point
        failure = classify(error)
    else:
        raise AssertionError("nothing was raised")
    assert json.loads(failure.text())["error_class"] == failure.error_class
    return failure


class Answering(BaseHTTPRequestHandler):
    """`/429?Retry-After=7` answers so; `/cut` promises more than it sends; `/moved` goes round in a circle."""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        word = path.removeprefix("/")
        self.send_response(int(word) if word.isdigit() else {"moved": 302}.get(word, 200))
        for name, value in (pair.split("=") for pair in query.split("&") if pair):
            self.send_header(name, value.replace("+", " "))
        if word == "moved":
            self.send_header("Location", "/moved")
        self.send_header("Content-Length", "100" if word == "cut" else "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def web():
    """A real HTTP server's address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def silent():
    """The address of somebody who takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def nobody():
    """An address where nobody listens: bound, so that no other program gets it."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


@pytest.fixture
def rude():
    """The address of somebody who hangs up on every caller without a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=hang_up, args=[listener], daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def hang_up(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            caller, _ = listener.accept()
            caller.recv(1000)
            caller.close()


def get_httpx2(url: str) -> object:
    return httpx2.get(url, timeout=SHORT if "127.0.0.1" in url else 5, trust_env=False).raise_for_status()


def get_urllib3(url: str) -> object:
    with urllib3.PoolManager(retries=False, timeout=SHORT) as pool:
        return pool.request("GET", url)


def get_urllib3_again(url: str) -> object:
    again = urllib3.Retry(1, backoff_factor=0, respect_retry_after_header=False, status_forcelist=[429, 503])
    with urllib3.PoolManager(retries=again, timeout=SHORT) as pool:
        return pool.request("GET", url)


def get_urllib(url: str) -> object:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=SHORT) as answer:
        return answer.read()


CLIENTS = [get_httpx2, get_urllib3, get_urllib3_again, get_urllib]


@pytest.mark.parametrize("get", CLIENTS)
def test_a_server_that_does_not_answer_is_a_timeout(get, silent):
    failure = failure_of(lambda: get(silent))
    assert (failure.error_class, failure.retryable) == ("NETWORK_TIMEOUT", True)


@pytest.mark.parametrize("get", CLIENTS)
def test_a_refused_or_broken_connection_is_a_reset(get, nobody, rude):
    for url in (nobody, rude):
        failure = failure_of(partial(get, url))
        assert (failure.error_class, failure.retryable) == ("NETWORK_RESET", True), failure.message


@pytest.mark.parametrize("get", CLIENTS)
def test_a_name_that_cannot_be_resolved_may_be_known_later(get):
    failure = failure_of(lambda: get("http://no-such-host.invalid/"))
    assert (failure.error_class, failure.retryable) == ("NETWORK_DNS", True), failure


@pytest.mark.parametrize("get", [get_httpx2, get_urllib])
def test_an_answer_carried_by_an_error_is_read(get, web):
    failure = failure_of(lambda: get(f"{web}/429?Retry-After=7&X-Request-ID=abc-123"))
    assert (failure.error_class, failure.retryable, failure.server_retry_after) == ("RATE_LIMITED", True, 7)
    assert failure.context["http_status"] == 429
    assert failure.context["request_id"] == "abc-123"
    assert failure.context["host"] == "127.0.0.1"
    assert failure_of(lambda: get(f"{web}/403?Retry-After=7")).server_retry_after == 0


@pytest.mark.parametrize("get", [get_httpx2, get_urllib])
def test_a_date_to_wait_for_is_measured_by_the_servers_own_clock(get, web):
    failure = failure_of(lambda: get(f"{web}/503?Retry-After=Fri,+31+Dec+9999+23:59:59+GMT"))
    assert failure.error_class == "UPSTREAM_UNAVAILABLE"
    assert failure.server_retry_after == 366 * 24 * 3600
    assert failure_of(lambda: get(f"{web}/503?Retry-After=Sun,+06+Nov+1994+08:49:37+GMT")).server_retry_after == 0


def test_attempts_that_urllib3_spent_itself_keep_the_status(web):
    failure = failure_of(lambda: get_urllib3_again(f"{web}/429"))
    assert (failure.error_class, failure.context["http_status"]) == ("RATE_LIMITED", 429)
    assert failure_of(lambda: get_urllib3_again(f"{web}/503")).error_class == "UPSTREAM_UNAVAILABLE"
    assert failure_of(lambda: get_urllib3_again(f"{web}/moved")).error_class == "UPSTREAM_ERROR"


def test_the_method_and_host_of_a_request_are_kept_and_nothing_else_of_it(web):
    there = web.replace("http://", "http://carol:hunter2@") + "/404?token=abcdef"
    failure = failure_of(lambda: get_httpx2(there))
    assert failure.context == {"http_status": 404, "host": "127.0.0.1", "method": "GET"}


@pytest.mark.parametrize("get", [get_httpx2, get_urllib3, get_urllib])
def test_an_answer_cut_short_is_a_reset(get, web):
    failure = failure_of(lambda: get(f"{web}/cut"))
    assert failure.error_class == "NETWORK_RESET", failure


def test_the_standard_librarys_http_client_is_understood(web, nobody):
    def cut() -> None:
        with contextlib.closing(HTTPConnection(web.removeprefix("http://"))) as connection:
            connection.request("GET", "/cut")
            connection.getresponse().read()

    def early() -> None:
        HTTPConnection(nobody.removeprefix("http://")).getresponse()

    def bad() -> None:
        HTTPConnection("127.0.0.1:port")

    assert failure_of(cut).error_class == "NETWORK_RESET"
    assert failure_of(early).error_class == "BUG"
    assert failure_of(bad).error_class == "SCHEMA_INVALID"
    assert classify(IncompleteRead(b"")).retryable


@pytest.mark.parametrize("get", [get_httpx2, get_urllib3])
def test_an_address_that_is_none_is_never_tried_again(get):
    for url in ("gopher://example.com", "http://[::1"):
        failure = failure_of(partial(get, url))
        assert (failure.error_class, failure.retryable) == ("SCHEMA_INVALID", False), failure


def test_a_stream_used_the_wrong_way_is_a_bug(web):
    def twice() -> None:
        with httpx2.stream("GET", web, trust_env=False) as answer:
            list(answer.iter_raw())
            list(answer.iter_raw())

    assert failure_of(twice).error_class == "BUG"


@pytest.fixture
def untrusted(tmp_path):
    """The address of a TLS server whose certificate nobody vouches for."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    made = [*request, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    terms = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    terms.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=shake_hands, args=[listener, terms], daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def shake_hands(listener: socket.socket, terms: ssl.SSLContext) -> None:
    with contextlib.suppress(OSError):
        while True:
            caller, _ = listener.accept()
            with caller, contextlib.suppress(OSError):
                terms.wrap_socket(caller, server_side=True).close()


def test_a_certificate_that_cannot_be_trusted_is_final(untrusted):
    def with_httpx2() -> None:
        httpx2.get(untrusted, trust_env=False, timeout=5, verify=ssl.create_default_context())

    def with_urllib3() -> None:
        with urllib3.PoolManager(retries=1, timeout=5, cert_reqs="CERT_REQUIRED") as pool:
            pool.request("GET", untrusted)

    def with_urllib() -> None:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(untrusted, timeout=5)

    for get in (with_httpx2, with_urllib3, with_urllib):
        failure = failure_of(get)
        assert (failure.error_class, failure.retryable) == ("TLS_INVALID", False), failure


def test_a_server_that_speaks_no_tls_is_a_reset(web):
    failure = failure_of(lambda: get_httpx2(web.replace("http:", "https:")))
    assert (failure.error_class, failure.retryable) == ("NETWORK_RESET", True)


def test_a_member_of_a_task_group_decides_for_all(nobody):
    host, port = nobody.removeprefix("http://").split(":")

    async def connect() -> None:
        await asyncio.open_connection(host, int(port))

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(connect())
            group.create_task(asyncio.to_thread(str))

    failure = failure_of(lambda: asyncio.run(both()))
    assert (failure.error_class, failure.retryable) == ("NETWORK_RESET", True)
    assert "member ConnectionRefusedError" in failure.stack
    assert failure.context == {"errno": 111}


def test_what_has_run_out_of_time_is_a_timeout(silent):
    host, port = silent.removeprefix("http://").split(":")

    async def never() -> None:
        async with asyncio.timeout(0):
            await asyncio.Event().wait()

    def listen() -> None:
        with socket.create_connection((host, int(port)), timeout=SHORT) as line:
            line.recv(1)

    assert failure_of(lambda: asyncio.run(never())).error_class == "NETWORK_TIMEOUT"
    assert failure_of(listen).error_class == "NETWORK_TIMEOUT"
