"""Servers that are killed between the commit of an answer and the answer, and servers that are stopped."""

import http.client
import signal
from contextlib import ExitStack

import psutil
import pytest

from tests.pipelines.agents.http.servers import AgentsServer
from tests.support.wait import until

MORTAL = "tests.pipelines.agents.http.mortal_server"
SLEEP = ("sleep", "600")
LOST = (ConnectionError, http.client.RemoteDisconnected)


ENDPOINTS = ["urm.copilot.start", "urm.agent.spawn", "urm.agent.cancel", "urm.copilot.stop"]


def requests_to(client, session):
    """Return what is sent to a session, in the order of the endpoints."""
    child = {"name": "a", "child_id": f"{session}.a"}
    return [
        lambda: client.start(session, client_request_id=f"{session}-start"),
        lambda: client.spawn(session, *SLEEP, **child, client_request_id=f"{session}-spawn"),
        lambda: client.cancel(f"{session}.a", client_request_id=f"{session}-cancel"),
        lambda: client.stop(session, client_request_id=f"{session}-stop"),
    ]


def answered(send):
    """Send a request again while the server takes its session up."""
    return until(lambda: reply if (reply := send()).status != 503 else None)


def check_repeated(client, number):
    """The requests to a session whose server was killed get the answers that were stored; the child ends once."""
    session = ENDPOINTS[number]
    replies = [answered(send) for send in requests_to(client, session)[: number + 1]]
    assert [reply.status for reply in replies] == [200] * (number + 1)
    assert [reply.value["status"] for reply in replies][:2] == ["started", "queued"][: number + 1]
    if number:
        found = client.child(f"{session}.a")["events"]
        assert [event["event"] for event in found].count("WORKER_FAIL") == 1


def test_a_request_whose_answer_was_stored_but_not_sent_gets_the_stored_answer_from_the_next_server(url, tmp_path):
    for number, endpoint in enumerate(ENDPOINTS):
        with AgentsServer(tmp_path, url, module=(MORTAL, endpoint)) as server:
            if number:
                check_repeated(server.client, number - 1)
            *before, last = requests_to(server.client, endpoint)[: number + 1]
            assert [send().status for send in before] == [200] * number
            with pytest.raises(LOST):
                last()
            assert server.process.wait(60) == -signal.SIGKILL
    with AgentsServer(tmp_path, url) as server:
        check_repeated(server.client, 3)


def test_the_next_server_takes_up_a_session_and_nothing_of_its_children_lives(url, tmp_path):
    with AgentsServer(tmp_path, url) as server:
        server.client.start("taken", client_request_id="k1", budget={"tokens": 5})
        server.client.spawn("taken", "sh", "-c", "echo $$ > pid; sleep 600", child_id="a", name="a")
        pid = until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
        server.kill()
        until(lambda: not psutil.pid_exists(int(pid)))
    with AgentsServer(tmp_path, url) as server:
        assert server.client.start("taken", client_request_id="k1", budget={"tokens": 5}).value["status"] == "started"
        answered(lambda: server.client.spawn("taken", child_id="b", name="a", again_of="a"))
        assert server.client.spawn("taken", again_of="b").value["code"] == "URM_CHILD_UNKNOWN", "it was not lost"
        server.client.wait_for("taken", "WORKER_PASS", "b")
        assert server.client.child("a")["events"][-1]["detail"]["code"] == "URM_CHILD_TERMINATED_ON_RESTART"
        assert server.client.stop("taken").value["status"] == "ended"


def test_a_server_with_50_open_streams_stops_within_its_grace_and_stops_its_children(url, tmp_path):
    with AgentsServer(tmp_path, url) as server, ExitStack() as streams:
        client = server.client
        client.start("stopped")
        client.spawn("stopped", *SLEEP, child_id="a")
        client.wait_for("stopped", "WORKER_START", "a")
        followers = [streams.enter_context(client.events("stopped")) for _ in range(50)]
        assert server.terminate() == 0
        assert [[event["seq"] for event in events][:2] for events in followers] == [[1, 2]] * 50
        assert server.log == ""
    with AgentsServer(tmp_path, url) as server:
        assert server.client.child("a")["events"][-1]["detail"]["code"] == "URM_CHILD_STOPPED"
        assert server.client.start("stopped").value["status"] == "started"
