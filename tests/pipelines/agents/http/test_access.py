"""Who may use the server, what a request may look like, and that every refusal has the same form."""

import json
import socket

import pytest

from tests.pipelines.agents.http.client import Client

ROUTES = [
    ("POST", "/urm/copilot/start"),
    ("POST", "/urm/copilot/stop"),
    ("POST", "/urm/agent/spawn"),
    ("POST", "/urm/agent/a/cancel"),
    ("GET", "/urm/agent/a"),
    ("GET", "/urm/copilot/events?parent_session_id=a"),
    ("GET", "/nowhere"),
]
# What is refused here never comes to a database.
pytestmark = pytest.mark.parametrize("server", ["sqlite"], indirect=True)
START = "/urm/copilot/start"
START_BODY = b'{"client_request_id": "%s", "parent_session_id": "refused"}'


def check_form(reply, status, code):
    """Every refusal has a code, a sentence and a context, and no cache keeps it."""
    assert reply.outcome == (status, code)
    assert reply.value.keys() == {"code", "message", "context"}
    assert reply.value["message"].endswith((".", "…`.", "'"))
    assert reply.headers["Cache-Control"] == "no-store"
    assert reply.headers["Content-Type"] == "application/json"
    assert not [name for name in reply.headers if name.lower().startswith("access-control-")]


@pytest.mark.parametrize(("method", "path"), ROUTES, ids=[path for _, path in ROUTES])
def test_s17_no_route_answers_without_the_token(client, server, method, path):
    for given in [None, "", "Bearer", "Bearer wrong", f"Basic {server.token}", server.token, f"Bearer {server.token}x"]:
        headers = {} if given is None else {"Authorization": given}
        other = Client(f"http://{client.address}", "")
        other.headers = headers
        reply = other.request(method, path, b"{}" if method == "POST" else None)
        check_form(reply, 401, "URM_HTTP_UNAUTHORIZED")
        assert reply.headers["WWW-Authenticate"] == "Bearer"


def test_unknown_routes_and_methods_are_refused_in_the_same_form(client):
    for path in ("/", "/urm", "/urm/agent/a/b/c", "/urm/copilot/start/", "/urm/agent/a/cancel/x"):
        check_form(client.post(path, {}), 404, "URM_HTTP_ROUTE_UNKNOWN")
    for method, path in ROUTES[:-1]:
        for other in {"GET", "POST", "PUT", "DELETE", "OPTIONS"} - {method, "GET" if "spawn" in path else method}:
            reply = client.request(other, path)
            check_form(reply, 405, "URM_HTTP_METHOD_NOT_ALLOWED")
            assert reply.headers["Allow"] == method
    assert client.request("HEAD", ROUTES[5][1]).status == 405


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1.example.org", "127.0.0.1:80:80", "", "evil.test:8618"])
def test_a_request_that_names_another_host_or_comes_from_a_web_page_is_refused(client, host):
    check_form(client.get("/urm/agent/a", Host=host), 403, "URM_HTTP_HOST_FORBIDDEN")
    origin = {"Host": "localhost", "Origin": "http://localhost"}
    check_form(client.request("GET", "/urm/agent/a", headers=origin), 403, "URM_HTTP_ORIGIN_FORBIDDEN")
    for own in ("localhost:1", "LOCALHOST", "[::1]:9", "127.0.0.1"):
        check_form(client.get("/urm/agent/a", Host=own), 404, "URM_CHILD_UNKNOWN")


BODIES = {
    "empty": (b"", 422, "URM_HTTP_BODY_INVALID"),
    "no JSON": (b"{", 422, "URM_HTTP_BODY_INVALID"),
    "a list": (b"[]", 422, "URM_HTTP_BODY_INVALID"),
    "NUL": (b'{"client_request_id": "a\\u0000"}', 422, "URM_HTTP_BODY_INVALID"),
    "a raw NUL": (b'{"client_request_id": "a\0"}', 422, "URM_HTTP_BODY_INVALID"),
    "invalid UTF-8": (b'{"client_request_id": "\xff"}', 422, "URM_HTTP_BODY_INVALID"),
    "UTF-16": ('{"client_request_id": "a"}'.encode("utf-16"), 422, "URM_HTTP_BODY_INVALID"),
    "a surrogate": (b'{"client_request_id": "\\ud800"}', 422, "URM_HTTP_BODY_INVALID"),
    "depth": (b'{"a":' * 90_000 + b"1" + b"}" * 90_000, 422, "URM_HTTP_BODY_INVALID"),
    "not a number": (b'{"max_active_children": NaN}', 422, "URM_HTTP_BODY_INVALID"),
    "a key twice": (b'{"client_request_id": "a", "client_request_id": "b"}', 422, "URM_HTTP_BODY_INVALID"),
    "too large": (b'{"a": "' + b"a" * 2**20 + b'"}', 413, "URM_HTTP_BODY_TOO_LARGE"),
    "an unknown field": (b'{"client_request_id": "a", "colour": 1}', 422, "URM_PLAN_FIELD_UNKNOWN"),
    "no request id": (b"{}", 422, "URM_PLAN_FIELD_MISSING"),
    "no name": (b'{"client_request_id": "a b"}', 422, "URM_SESSION_INVALID"),
    "another type": (b'{"client_request_id": 1}', 422, "URM_SESSION_INVALID"),
    "a long name": (b'{"client_request_id": "%s"}' % (b"a" * 129), 422, "URM_SESSION_INVALID"),
    "a budget of 1.5": (b'{"client_request_id": "a", "budget": {"tokens": 1.5}}', 422, "URM_PLAN_BUDGET_INVALID"),
    "a third lane": (b'{"client_request_id": "a", "budget": {"cents": 1}}', 422, "URM_PLAN_FIELD_UNKNOWN"),
    "three children": (b'{"client_request_id": "a", "max_active_children": 3}', 422, "URM_PLAN_VALUE_INVALID"),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_cannot_be_a_request_is_refused_with_a_code_and_leaves_nothing(client, name):
    body, status, code = BODIES[name]
    check_form(client.post(START, body), status, code)
    assert client.post(START, {"client_request_id": "a", "parent_session_id": "."}).status == 422


def test_a_body_is_json_in_utf_8_that_is_not_compressed(client):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", ""):
        reply = client.request("POST", START, b"{}", {"Content-Type": kind})
        check_form(reply, 415, "URM_HTTP_MEDIA_TYPE_UNSUPPORTED")
    packed = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    check_form(client.request("POST", START, b"{}", packed), 415, "URM_HTTP_MEDIA_TYPE_UNSUPPORTED")
    allowed = {"Content-Type": 'Application/JSON; charset="UTF-8"'}
    check_form(client.request("POST", START, b"{}", allowed), 422, "URM_PLAN_FIELD_MISSING")


def test_50_mb_are_refused_whether_they_are_announced_sent_or_sent_in_chunks(client):
    part = b"a" * 2**20
    announced = {"Content-Type": "application/json", "Content-Length": str(50 * 2**20), "Expect": "100-continue"}
    check_form(client.request("POST", START, None, announced), 413, "URM_HTTP_BODY_TOO_LARGE")
    check_form(client.post(START, part * 50), 413, "URM_HTTP_BODY_TOO_LARGE")
    chunks = (part for _ in range(50))
    kind = {"Content-Type": "application/json"}
    check_form(client.request("POST", START, chunks, kind), 413, "URM_HTTP_BODY_TOO_LARGE")


@pytest.mark.parametrize("sent", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET /" + b"a" * 65_532])
def test_what_is_not_http_is_answered_in_the_same_form_and_the_connection_closed(client, sent):
    host, port = client.address.split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(sent)
        head, _, body = b"".join(iter(lambda: connection.recv(65_536), b"")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["code"] == "URM_HTTP_REQUEST_INVALID"
