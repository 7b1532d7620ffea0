"""Sessions and children over HTTP: started, spawned, read, cancelled and stopped, each request answered once."""

import json
from concurrent.futures import ThreadPoolExecutor

from tests.support.wait import until

SLEEP = ("sleep", "600")


def test_a_session_is_started_its_children_run_and_are_read_and_it_is_stopped(client):
    started = client.start("whole", budget={"tokens": 100})
    assert (started.status, started.value["status"]) == (200, "started")
    spawned = client.spawn(
        "whole", "sh", "-c", 'read line; printf "%s" "$line"', input={"n": 1}, name="a", child_id="whole.a"
    )
    assert (spawned.value["status"], spawned.value["child_id"]) == ("queued", "whole.a")
    client.wait_for("whole", "WORKER_PASS", "whole.a")
    child = client.child("whole.a")
    assert (child["phase"], child["name"], child["token"]["dispatch_seq"]) == ("terminal", "a", 1)
    assert json.loads(child["output"])["input"] == {"n": 1}
    assert [event["event"] for event in child["events"]] == ["WORKER_START", "WORKER_PASS"]
    assert client.stop("whole").value == {"status": "ended", "parent_session_id": "whole", "passed": 1, "failed": 0}
    assert client.spawn("whole").outcome == (409, "URM_SESSION_NOT_ACTIVE")
    assert client.start("whole", budget={"tokens": 100}).outcome == (409, "URM_SESSION_ENDED")


def test_a_third_child_waits_and_a_cancel_ends_one_that_runs_and_one_that_waits(client):
    client.start("cancels")
    for name in "abc":
        assert client.spawn("cancels", *SLEEP, child_id=f"cancels.{name}").status == 200
    client.wait_for("cancels", "WORKER_START", "cancels.a")
    client.wait_for("cancels", "WORKER_START", "cancels.b")
    assert client.cancel("cancels.c", client_request_id="third").value["status"] == "cancelled"
    first = client.cancel("cancels.a", client_request_id="first")
    assert first.value["status"] == "cancel_requested"
    assert client.cancel("cancels.a", client_request_id="first").text == first.text
    client.wait_for("cancels", "WORKER_FAIL", "cancels.a")
    assert client.cancel("cancels.a").value["status"] == "already_terminal"
    found = client.child("cancels.a")["events"]
    assert [event["event"] for event in found] == ["WORKER_START", "WORKER_CANCEL", "WORKER_FAIL"]
    assert {event["detail"].get("cancel_request_id") for event in found} == {None, "first"}
    assert client.stop("cancels").value["status"] == "stopped"
    assert client.child("cancels.b")["events"][-1]["detail"]["code"] == "URM_CHILD_STOPPED"


def test_twenty_equal_requests_at_once_get_one_answer_and_do_one_thing(client):
    def all_at_once(send):
        with ThreadPoolExecutor(20) as pool:
            replies = list(pool.map(lambda _: send(), range(20)))
        assert {reply.status for reply in replies} == {200}
        assert len({reply.text for reply in replies}) == 1
        return replies[0].value

    all_at_once(lambda: client.start("equal", client_request_id="equal-start"))
    one = all_at_once(lambda: client.spawn("equal", *SLEEP, name="a", client_request_id="equal-spawn"))
    client.wait_for("equal", "WORKER_START", one["child_id"])
    all_at_once(lambda: client.cancel(one["child_id"], client_request_id="equal-cancel"))
    all_at_once(lambda: client.stop("equal", client_request_id="equal-stop"))
    with client.events("equal") as events:
        assert [event["event"] for event in events] == [
            "TOOL_CALL_START",
            "WORKER_START",
            "WORKER_CANCEL",
            "WORKER_FAIL",
        ]


def test_a_session_without_a_name_gets_one_that_its_request_determines(client):
    first = client.post("/urm/copilot/start", {"client_request_id": "nameless"})
    assert first.status == 200
    assert client.post("/urm/copilot/start", {"client_request_id": "nameless"}).text == first.text
    assert client.stop(first.value["parent_session_id"]).status == 200


def test_another_body_under_a_used_id_is_a_conflict_with_both_hashes(client):
    client.start("conflict", client_request_id="c1")
    spawned = client.spawn("conflict", *SLEEP, name="a", client_request_id="c2").value["child_id"]
    client.cancel(spawned, client_request_id="c3")
    other = client.spawn("conflict", *SLEEP).value["child_id"]
    refused = [
        client.start("conflict", client_request_id="c1", budget={"tokens": 1}),
        client.spawn("conflict", "true", name="a", client_request_id="c2"),
        client.cancel(other, client_request_id="c3"),
    ]
    client.stop("conflict", client_request_id="c4")
    client.start("conflict.2")
    refused.append(client.stop("conflict.2", client_request_id="c4"))
    for reply in refused:
        assert reply.outcome == (409, "URM_IDEMPOTENCY_KEY_CONFLICT")
        context = reply.value["context"]
        assert len(context["stored_sha256"]) == len(context["sent_sha256"]) == 64
        assert context["stored_sha256"] != context["sent_sha256"]
    assert client.stop("conflict.2").status == 200


def test_a_spawn_is_refused_with_the_codes_of_a_plan_and_leaves_nothing(client, server):
    (server.folder / "here").mkdir(exist_ok=True)
    client.start("refused")
    cases: list[tuple[dict, str]] = [
        ({"command": "ls -l"}, "URM_PLAN_COMMAND_INVALID"),
        ({"command": []}, "URM_PLAN_COMMAND_INVALID"),
        ({"command": ["no-such-program"]}, "URM_PLAN_COMMAND_MISSING"),
        ({"command": ["./missing"]}, "URM_PLAN_COMMAND_MISSING"),
        ({"command": ["/bin/sh"]}, "URM_PLAN_FOLDER_OUTSIDE"),
        ({"command": ["true", "a\0b"]}, "URM_HTTP_BODY_INVALID"),
        ({"folder": ".."}, "URM_PLAN_FOLDER_OUTSIDE"),
        ({"folder": "/"}, "URM_PLAN_FOLDER_OUTSIDE"),
        ({"after": ["a"]}, "URM_PLAN_FIELD_UNKNOWN"),
        ({"timeot": 1}, "URM_PLAN_FIELD_UNKNOWN"),
        ({"timeout": -1}, "URM_PLAN_VALUE_INVALID"),
        ({"env": ["A=b"]}, "URM_PLAN_VALUE_INVALID"),
        ({"name": "../a"}, "URM_PLAN_NAME_INVALID"),
        ({"child_id": "../a"}, "URM_SESSION_INVALID"),
    ]
    for fields, code in cases:
        assert client.spawn("refused", **fields).outcome == (422, code), fields
    assert client.spawn("nowhere").outcome == (404, "URM_SESSION_UNKNOWN")
    assert client.stop("nowhere").outcome == (404, "URM_SESSION_UNKNOWN")
    assert client.cancel("nobody").outcome == (404, "URM_CHILD_UNKNOWN")
    for name in ("nobody", "a%00b", "a%2Fb", "%ff", "a" * 200):
        assert client.get(f"/urm/agent/{name}").status in {404, 422}
    assert client.spawn("refused", folder="here", child_id="refused.a").status == 200
    assert client.spawn("refused", child_id="refused.a").outcome == (409, "URM_DISPATCH_LEASE_CONFLICT")
    client.wait_for("refused", "WORKER_PASS", "refused.a")
    assert client.child("refused.a")["token"]["queue_seq"] == 1
    assert client.stop("refused").value["passed"] == 1


def test_a_session_of_another_coordinator_is_reached_but_not_stopped(client, opened):
    session = opened("elsewhere")
    spawned = client.spawn("elsewhere", *SLEEP).value["child_id"]
    until(lambda: client.child(spawned)["phase"] == "started")
    assert client.start("elsewhere").outcome == (409, "URM_SESSION_NOT_ACTIVE")
    assert client.stop("elsewhere").outcome == (409, "URM_SESSION_NOT_ACTIVE")
    assert client.cancel(spawned).value["status"] == "cancel_requested"
    session.wait_idle()
    assert client.child(spawned)["events"][-1]["detail"]["code"] == "URM_CHILD_CANCELLED"
