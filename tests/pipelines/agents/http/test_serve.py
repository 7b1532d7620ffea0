"""The server itself: its token, its address, requests that do not arrive, and its end."""

import asyncio
import socket
import stat
from contextlib import ExitStack, suppress
from threading import Thread

import pytest
from starlette.requests import Request

from leasehold.pipelines.agents.http.bearer_token import TOKEN_VARIABLE, TokenInvalid, find_token
from leasehold.pipelines.agents.http.body import read_body
from leasehold.pipelines.agents.http.connection import DeadlineProtocol
from leasehold.pipelines.agents.http.errors import BodyTimeout
from leasehold.pipelines.agents.http.serve import ServeOptions, serve_sessions
from leasehold.pipelines.agents.http.server import (
    REMOTE_SENTENCE,
    AddressRefused,
    HttpServer,
    allowed_hosts,
    check_address,
    listen,
)
from leasehold.processes import Stop
from tests.pipelines.agents.http.servers import AgentsServer

GOOD = "x" * 32


def test_a_token_is_made_once_for_its_owner_alone_and_others_are_used_if_given(tmp_path):
    made = find_token(None, tmp_path / "home", {})
    kept = tmp_path / "home" / "agents-http.token"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]
    assert len(made.text) >= 43
    assert made.text not in repr(made)
    assert find_token(None, kept.parent, {}) == made
    assert find_token(None, kept.parent, {TOKEN_VARIABLE: GOOD}).text == GOOD
    assert find_token(kept, tmp_path, {TOKEN_VARIABLE: GOOD}).text == made.text


@pytest.mark.parametrize("text", ["", "x" * 31, f"{GOOD} {GOOD}", f"{GOOD}\n{GOOD}", f"{GOOD}ä", "x" * 5_000])
def test_a_token_that_is_weak_or_readable_by_others_is_refused(tmp_path, text):
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(TokenInvalid):
        find_token(file, tmp_path)
    with pytest.raises(TokenInvalid):
        find_token(None, tmp_path, {TOKEN_VARIABLE: text})
    file.write_text(f"{GOOD}\n")
    assert find_token(file, tmp_path).text == GOOD
    for mode in (0o640, 0o604):
        file.chmod(mode)
        with pytest.raises(TokenInvalid, match="chmod 600"):
            find_token(file, tmp_path)
    for other in (tmp_path, tmp_path / "missing"):
        with pytest.raises(TokenInvalid):
            find_token(other, tmp_path)


def test_an_address_that_other_machines_reach_needs_the_sentence(tmp_path):
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org", ""):  # noqa: S104
        for sentence in (None, "yes", REMOTE_SENTENCE.upper()):
            with pytest.raises(AddressRefused, match="--allow-remote"):
                serve_sessions(ServeOptions(tmp_path, host=host, sentence=sentence), print)
        check_address(host, REMOTE_SENTENCE)
    for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost"):
        check_address(host, None)
    assert list(tmp_path.iterdir()) == []
    assert allowed_hosts("192.0.2.1", ("Example.org",)) >= {"192.0.2.1", "example.org", "localhost", "[::1]"}
    with listen("127.0.0.1", 0) as taken, pytest.raises(AddressRefused, match="in use"):
        listen("127.0.0.1", taken.getsockname()[1])


def test_no_token_is_printed_or_logged_and_the_command_states_where_it_is(tmp_path):
    with AgentsServer(tmp_path, f"sqlite:///{tmp_path}/agents.db") as server:
        assert server.text.endswith(f", bearer token: {tmp_path}/.leasehold/agents-http.token\n")
        assert server.client.get("/nowhere").status == 404
        assert server.token not in server.text + server.log


class HastyProtocol(DeadlineProtocol):
    request_seconds = 0.1


async def empty_app(_, __, send):
    await send({"type": "http.response.start", "status": 204})
    await send({"type": "http.response.body"})


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /"])
def test_a_connection_whose_request_does_not_arrive_in_time_is_closed(sent):
    stop = Stop()
    server = HttpServer(empty_app, stop, lambda: None)
    server.config.http = HastyProtocol
    with ExitStack() as stack:
        listener = stack.enter_context(listen("127.0.0.1", 0))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        stack.callback(thread.join)
        stack.callback(stop, 15, None)
        client = stack.enter_context(socket.create_connection(listener.getsockname(), timeout=60))
        client.sendall(sent)
        with suppress(ConnectionResetError):
            while client.recv(65_536):
                pass
        assert stop.number is None


def test_a_body_that_does_not_arrive_in_time_is_refused():
    async def receive():
        await asyncio.get_running_loop().create_future()

    headers = [(b"content-type", b"application/json")]
    request = Request({"type": "http", "method": "POST", "headers": headers}, receive)
    with pytest.raises(BodyTimeout):
        asyncio.run(read_body(request, seconds=0.01))
