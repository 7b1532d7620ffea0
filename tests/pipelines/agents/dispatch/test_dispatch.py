"""Dispatch: the order of leases, the cap, requests that are answered once, cancels that name their end."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from leasehold.contracts import contract
from leasehold.pipelines.agents import errors
from leasehold.pipelines.agents.child_dispatch import (
    Failed,
    Passed,
    Spawn,
    cancel_child,
    fail_queued_child,
    finish_child,
    lease_child,
    spawn_child,
    start_child,
)
from leasehold.pipelines.agents.event_files import lines_of
from leasehold.pipelines.agents.runtime_state import RandomIds, RuntimeState, sha256_of
from leasehold.pipelines.agents.sessions import SessionTerms, close_session, open_session
from leasehold.pipelines.agents.tokens import export_tokens
from tests.pipelines.agents.dispatch.coordinators import (
    SESSION,
    TS,
    deterministic,
    lease,
    mixed_session,
    opened,
    run_all,
    spawn,
    transcript,
)

BUDGET = Failed("budget_exceeded", "URM_CHILD_BUDGET_EXCEEDED")


def events(state, session=SESSION):
    return [json.loads(line) for line in lines_of(state.records, session)]


def of_child(state, child, session=SESSION):
    """The worker events of a child's own stream."""
    return [event for event in events(state, session) if event["stream_id"] == f"child:{child}"]


def test_a_spawn_appends_the_tool_call_to_the_parents_stream_and_its_seq_is_the_tokens(state):
    opened(state)
    spawn(state, "a")
    answer = spawn_child(state, Spawn(SESSION, "r", "b", {"command": ["true"]}, again_of="a"))
    assert (answer["status"], answer["phase"], answer["queue_seq"], answer["parent_seq"]) == ("queued", "queued", 2, 2)
    assert "dispatch_seq" not in answer
    event = events(state)[1]
    assert event == {
        "schema": "urm-events@1",
        "event": "TOOL_CALL_START",
        "stream_id": "copilot:demo",
        "seq": 2,
        "ts": TS,
        "source": {"component": "leasehold.pipelines.agents", "version": "1", "provider": "leasehold"},
        "context": {"session_id": "demo", "role": "copilot", "endpoint": "urm.agent.spawn"},
        "detail": {
            "tool_name": "spawn_agent",
            "child_id": "b",
            "queue_seq": 2,
            "client_request_id": "r",
            "again_of": "a",
        },
    }


def test_a_session_without_a_parent_stream_writes_to_the_audit_stream(state):
    open_session(state, SessionTerms("s", has_stream=False))
    spawn(state, "a", session="s")
    run_all(state, "s")
    assert {event["stream_id"] for event in events(state, "s")} == {"urm_audit:s", "child:a"}


def test_worker_events_go_to_the_childs_stream_and_are_mirrored_with_the_detail_minimum(state):
    opened(state)
    spawn(state, "a")
    leased = lease(state)
    finish_child(state, start_child(state, leased), BUDGET)
    started, failed = of_child(state, "a")
    minimum = {
        "dispatch_seq": 1,
        "lease_id": leased.worker_run_id,
        "parent_stream_id": "copilot:demo",
        "parent_seq": 1,
        "queue_seq": 1,
        "child_id": "a",
    }
    assert started["detail"] == {**minimum, "phase_at_event": "started"}
    reason = {"reason": "budget_exceeded", "code": "URM_CHILD_BUDGET_EXCEEDED"}
    assert failed["detail"] == {**minimum, **reason, "phase_at_event": "terminal"}
    mirrored = [event for event in events(state) if event["stream_id"] == "copilot:demo"][1:]
    assert [event["detail"] for event in mirrored] == [started["detail"], failed["detail"]]
    assert [event["seq"] for event in mirrored] == [2, 3]
    assert started["context"] == {"session_id": "demo", "run_id": leased.worker_run_id, "role": "worker"}


def test_exported_tokens_and_events_obey_their_published_schemas(state):
    mixed_session(state)
    rows = [json.loads(line) for line in export_tokens(state.records, SESSION).splitlines()]
    assert {row["phase"] for row in rows} == {"queued", "leased", "started", "terminal"}
    assert [contract("scheduler_dispatch_token", 1).problems(row) for row in rows] == [[]] * 6
    assert [problem for event in events(state) for problem in contract("urm-events", 1).problems(event)] == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("scheduler_dispatch_token", {"phase": "running"}),
        ("scheduler_dispatch_token", {"dispatch_seq": 0}),
        ("scheduler_dispatch_token", {"worker_run_id": None}),
        ("scheduler_dispatch_token", {"other": 1}),
        ("scheduler_dispatch_token", {"phase": "queued"}),
        ("urm-events", {"schema": "urm-events@2"}),
        ("urm-events", {"stream_id": "other:demo"}),
        ("urm-events", {"seq": 0}),
        ("urm-events", {"ts": "yesterday"}),
        ("urm-events", {"detail": {}}),
        ("urm-events", {"other": 1}),
    ],
)
def test_a_token_or_event_that_breaks_its_schema_is_refused(state, name, change):
    opened(state)
    spawn(state, "a")
    start_child(state, lease(state))
    sound = json.loads(export_tokens(state.records, SESSION)) if name != "urm-events" else of_child(state, "a")[0]
    assert contract(name, 1).admits([sound])
    assert not contract(name, 1).admits([{**sound, **change}])


def test_two_hundred_children_are_leased_in_the_order_in_which_they_were_spawned(state):
    opened(state)
    names = [f"child-{number}" for number in range(200)]
    spawn(state, *names)
    done = run_all(state)
    assert [token.child_id for token in done] == names
    assert [token.dispatch_seq for token in done] == list(range(1, 201))


def test_a_third_child_waits_until_one_of_two_has_ended(state):
    opened(state)
    spawn(state, "a", "b", "c")
    first, second = lease(state), start_child(state, lease(state))
    assert lease_child(state, SESSION) is None
    finish_child(state, second, Passed())
    assert lease(state).child_id == "c"
    assert lease_child(state, SESSION) is None
    finish_child(state, first, BUDGET)
    assert lease_child(state, SESSION) is None


def test_sixteen_threads_never_share_a_number_and_never_exceed_the_cap(state):
    opened(state, cap=5)

    def work(thread):
        spawn(state, *(f"t{thread}-{number}" for number in range(5)))
        found = []
        for _ in range(8):
            leased = lease_child(state, SESSION)
            if leased is not None:
                active = state.records.read(lambda reading: reading.run("token/count_active", parent_session_id="demo"))
                found.append((leased, active[0][0]))
                finish_child(state, start_child(state, leased), Passed())
        return found

    with ThreadPoolExecutor(16) as pool:
        found = [each for thread in pool.map(work, range(16)) for each in thread]
    assert max(active for _, active in found) <= 5
    done = [token for token, _ in found] + run_all(state)
    assert sorted(token.dispatch_seq for token in done) == list(range(1, 81))
    assert sorted(token.queue_seq for token in done) == list(range(1, 81))
    by_dispatch = sorted(done, key=lambda token: token.dispatch_seq or 0)
    assert [token.queue_seq for token in by_dispatch] == list(range(1, 81))
    seqs = [event["seq"] for event in events(state) if event["stream_id"] == "copilot:demo"]
    assert seqs == list(range(1, 80 * 3 + 1))


def test_the_same_request_is_answered_once_and_another_body_under_its_id_is_refused_with_both_hashes(state):
    opened(state)
    first = spawn_child(state, Spawn(SESSION, "r", body={"n": 1}))
    before = transcript(state.records)
    assert spawn_child(state, Spawn(SESSION, "r", body={"n": 1})) == first
    with pytest.raises(errors.IdempotencyConflict) as refused:
        spawn_child(state, Spawn(SESSION, "r", body={"n": 2}))
    context = refused.value.plain()["context"]
    assert refused.value.code == "URM_IDEMPOTENCY_KEY_CONFLICT"
    assert context["stored_sha256"] == sha256_of(Spawn(SESSION, "r", body={"n": 1}).plain())
    assert context["sent_sha256"] == sha256_of(Spawn(SESSION, "r", body={"n": 2}).plain())
    assert transcript(state.records) == before


def test_one_request_from_many_threads_spawns_one_child(state):
    opened(state)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: spawn_child(state, Spawn(SESSION, "r")), range(8)))
    assert [answer == answers[0] for answer in answers] == [True] * 8
    assert len(run_all(state)) == 1


def test_one_request_id_in_two_sessions_at_once_is_answered_for_one_and_refused_for_the_other(state):
    opened(opened(state), "other")

    def attempt(session):
        try:
            return spawn_child(state, Spawn(session, "r"))["status"]
        except errors.IdempotencyConflict as error:
            return error.code

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(attempt, [SESSION, "other"])) == ["URM_IDEMPOTENCY_KEY_CONFLICT", "queued"]


def test_a_child_name_that_is_taken_is_a_lease_conflict_and_leaves_nothing(state):
    opened(state)
    spawn(state, "a")
    before = transcript(state.records)
    with pytest.raises(errors.DispatchLeaseConflict):
        spawn_child(state, Spawn(SESSION, "r", "a"))
    assert transcript(state.records) == before


@pytest.mark.parametrize("name", ["", "../a", "a/b", "a\n", "ä", "a" * 129, "child:a"])
def test_a_child_name_that_is_no_file_name_is_refused(state, name):
    opened(state)
    with pytest.raises(errors.SessionInvalid):
        spawn_child(state, Spawn(SESSION, "r", name or " "))
    with pytest.raises(errors.SessionInvalid):
        spawn_child(state, Spawn(SESSION, name, "a"))


def test_deterministic_run_ids_are_hashes_of_the_session_and_the_number_and_random_ones_differ(state):
    opened(state)
    spawn(state, "a")
    assert lease(state).worker_run_id == sha256_of({"parent_session_id": "demo", "dispatch_seq": 1})
    assert RandomIds().worker_run_id("demo", 1) != RandomIds().worker_run_id("demo", 1)


def test_s8_the_same_calls_leave_the_same_bytes_on_both_databases(state):
    mixed_session(state)
    found = transcript(state.records)
    assert len(found.splitlines()) == 6 + 6 + 2 * 6
    assert sha256_of(found) == "0f045db14774a27fcb06fee8b385fc9b26c207a1dbafc962b126db6b094c7eda"


def test_phases_do_not_go_back_and_a_late_call_changes_nothing(state):
    opened(state)
    spawn(state, "a", "b")
    leased = lease(state)
    with pytest.raises(errors.PhaseInvalid):
        finish_child(state, leased, Passed())
    started = start_child(state, leased)
    with pytest.raises(errors.PhaseInvalid):
        start_child(state, leased)
    finish_child(state, started, Passed())
    before = transcript(state.records)
    for late in (lambda: start_child(state, leased), lambda: finish_child(state, started, BUDGET)):
        with pytest.raises(errors.PhaseInvalid) as refused:
            late()
        assert refused.value.plain()["context"]["phase"] == "terminal"
    with pytest.raises(errors.PhaseInvalid):
        fail_queued_child(state, "a", BUDGET)
    assert transcript(state.records) == before


def test_a_queued_child_that_fails_ends_without_a_lease(state):
    opened(state)
    spawn(state, "a", "b")
    assert fail_queued_child(state, "a", BUDGET).phase == "terminal"
    (failed,) = of_child(state, "a")
    assert failed["event"] == "WORKER_FAIL"
    assert failed["detail"].keys().isdisjoint({"dispatch_seq", "lease_id"})
    assert [token.child_id for token in run_all(state)] == ["b"]


def test_s10_a_cancel_precedes_and_names_the_end_that_it_caused(state):
    opened(state)
    spawn(state, "a", "b")
    running = start_child(state, lease(state))
    assert cancel_child(state, "a", "x")["status"] == "cancel_requested"
    finish_child(state, running, Failed("cancelled", "URM_CHILD_CANCELLED"))
    assert cancel_child(state, "b", "y")["status"] == "cancelled"
    for child, request, lines in (("a", "x", 3), ("b", "y", 2)):
        found = of_child(state, child)
        assert len(found) == lines
        assert [event["event"] for event in found[-2:]] == ["WORKER_CANCEL", "WORKER_FAIL"]
        assert {event["detail"]["cancel_request_id"] for event in found[-2:]} == {request}
        assert found[-1]["detail"]["code"] == "URM_CHILD_CANCELLED"


def test_a_child_that_passes_in_spite_of_a_cancel_is_not_ended_by_it(state):
    opened(state)
    spawn(state, "a")
    running = start_child(state, lease(state))
    cancel_child(state, "a", "x")
    finish_child(state, running, Passed())
    assert "cancel_request_id" not in of_child(state, "a")[-1]["detail"]


def test_the_same_cancel_twice_is_one_and_a_second_one_adds_nothing(state):
    opened(state)
    spawn(state, "a")
    lease(state)
    first = cancel_child(state, "a", "x")
    before = transcript(state.records)
    assert cancel_child(state, "a", "x") == first
    second = cancel_child(state, "a", "y")
    assert (second["status"], second["cancel_request_id"]) == ("already_requested", "x")
    assert transcript(state.records) == before


def test_a_cancel_of_an_ended_child_is_already_terminal_and_leaves_no_event(state):
    opened(state)
    spawn(state, "a")
    run_all(state)
    before = transcript(state.records)
    assert cancel_child(state, "a", "x")["status"] == "already_terminal"
    assert cancel_child(state, "a", "x")["status"] == "already_terminal"
    assert transcript(state.records) == before
    with pytest.raises(errors.ChildUnknown):
        cancel_child(state, "z", "y")


def test_cancels_that_race_completions_leave_one_end_each_with_the_cancel_before_it(state):
    opened(state, cap=60)
    names = [f"c{number}" for number in range(60)]
    spawn(state, *names)
    running = [start_child(state, lease(state)) for _ in names]
    with ThreadPoolExecutor(8) as pool:
        cancels = [pool.submit(cancel_child, state, name, f"x-{name}") for name in names]
        ends = [pool.submit(finish_child, state, token, BUDGET) for token in running]
        statuses = [future.result()["status"] for future in cancels]
        assert all(future.result().phase == "terminal" for future in ends)
    for name, status in zip(names, statuses, strict=True):
        found = of_child(state, name)
        between = ["WORKER_CANCEL"] if status == "cancel_requested" else []
        assert [event["event"] for event in found] == ["WORKER_START", *between, "WORKER_FAIL"]
        assert found[-1]["detail"].get("cancel_request_id") == (f"x-{name}" if between else None)


def test_a_coordinator_cannot_touch_the_children_of_another(records, state):
    opened(state)
    spawn(state, "a")
    other = deterministic(records, "second")
    with pytest.raises(errors.SessionInactive):
        opened(other)
    with pytest.raises(errors.SessionInactive):
        lease_child(other, SESSION)
    leased = lease(state)
    with pytest.raises(errors.SessionInactive):
        start_child(other, leased)
    with pytest.raises(errors.SessionInactive):
        finish_child(other, leased, BUDGET)
    assert spawn(other, "b") == ["b"]
    assert cancel_child(other, "b", "x")["status"] == "cancelled"


def test_a_session_is_left_when_its_children_have_ended_and_refuses_spawns_after_that(state):
    opened(state)
    spawn(state, "a")
    with pytest.raises(errors.PhaseInvalid):
        close_session(state, SESSION)
    run_all(state)
    close_session(state, SESSION)
    with pytest.raises(errors.SessionInactive):
        spawn(state, "b")
    assert spawn(state, "a") == ["a"]
    with pytest.raises(errors.SessionUnknown):
        spawn(state, "b", session="nowhere")


def test_before_its_recovery_a_coordinator_neither_opens_nor_spawns_nor_leases(records):
    state = RuntimeState(records, "late")
    for refused in (lambda: opened(state), lambda: spawn(state, "a"), lambda: lease_child(state, SESSION)):
        with pytest.raises(errors.RecoveryPending):
            refused()
