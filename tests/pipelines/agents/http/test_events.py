"""The stream of a session's events: in order, while they happen, and resumed at every one of them."""

from contextlib import ExitStack
from threading import Thread

from tests.pipelines.agents.http.client import Events

PATH = "/urm/copilot/events"


def all_of(client, session, after=None):
    with client.events(session, after) as events:
        assert events.response.status == 200
        return list(events)


def test_a_stream_that_is_resumed_at_any_event_loses_and_repeats_nothing(client):
    client.start("resumed")
    for name in ("resumed.a", "resumed.b", "resumed.c"):
        client.spawn("resumed", child_id=name)
    client.wait_for("resumed", "WORKER_PASS", "resumed.c")
    client.stop("resumed")
    whole = all_of(client, "resumed")
    assert [event["seq"] for event in whole] == list(range(1, 10))
    for seen in range(9):
        assert all_of(client, "resumed", seen) == whole[seen:]
    ended = client.get(f"{PATH}?parent_session_id=resumed", **{"Last-Event-ID": "9"})
    assert (ended.status, ended.text) == (204, b"")


def test_a_client_that_comes_back_after_each_event_of_a_running_session_gets_each_once(client):
    client.start("live")
    found: list[dict] = []

    def follow():
        while len(found) < 12:
            with client.events("live", found[-1]["seq"] if found else None) as events:
                found.append(next(iter(events)))

    follower = Thread(target=follow)
    follower.start()
    for name in ("live.a", "live.b", "live.c", "live.d"):
        client.spawn("live", child_id=name)
    follower.join()
    client.stop("live")
    assert found == all_of(client, "live")


def test_many_clients_of_one_session_get_the_same_events(client):
    client.start("shared")
    with ExitStack() as streams:
        followers = [streams.enter_context(client.events("shared")) for _ in range(20)]
        client.spawn("shared")
        client.spawn("shared")
        client.stop("shared")
        found = [list(events) for events in followers]
    assert len(found[0]) >= 4
    assert found == [found[0]] * 20


def test_what_is_no_event_of_the_stream_cannot_be_resumed(client):
    client.start("empty")
    for seen in ("1", "-1", "x", "1.0", "", "٣", "9" * 30, "01"):
        reply = client.get(f"{PATH}?parent_session_id=empty", **{"Last-Event-ID": seen.encode().decode("latin-1")})
        assert reply.outcome == (422, "URM_HTTP_PARAMETER_INVALID"), seen
    for query in (
        "",
        "?session=empty",
        "?parent_session_id=empty&parent_session_id=empty",
        "?parent_session_id=empty&a=b",
    ):
        assert client.get(f"{PATH}{query}").outcome == (422, "URM_HTTP_PARAMETER_INVALID")
    assert client.get(f"{PATH}?parent_session_id=a%00").outcome == (422, "URM_SESSION_INVALID")
    assert client.get(f"{PATH}?parent_session_id=nowhere").outcome == (404, "URM_SESSION_UNKNOWN")
    with Events(client, "empty", 0) as events:
        assert events.response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        assert events.response.headers["Cache-Control"] == "no-store"
        client.stop("empty")
        assert list(events) == []
