"""Recovery: children of coordinators that are gone end once, in order, and those of living ones are left alone."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from leasehold.pipelines.agents import child_recovery, errors
from leasehold.pipelines.agents.child_dispatch import Passed, cancel_child, finish_child, lease_child, start_child
from leasehold.pipelines.agents.child_recovery import recover
from leasehold.pipelines.agents.event_files import lines_of
from leasehold.pipelines.agents.runtime_state import RuntimeState, wall_time
from leasehold.pipelines.agents.verify import verify
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

LATER = "2026-02-03T04:05:06.000007Z"


def is_first(coordinator):
    return coordinator == "first"


def ends(records, session=SESSION):
    """The ends of a session's children as their parent saw them: child, code, reason."""
    found = [json.loads(line) for line in lines_of(records, session)]
    parent = [event["detail"] for event in found if event["stream_id"].startswith("copilot:")]
    return [(one["child_id"], one["code"], one["reason"]) for one in parent if "code" in one]


def test_what_started_is_terminated_and_what_did_not_is_orphaned_in_the_order_of_dispatch(records, state):
    mixed_session(state)
    second = deterministic(records, "second", LATER)
    recovered = recover(second, is_first)
    orphaned = ("URM_SCHEDULER_LEASE_ORPHANED", "lease_orphaned")
    assert ends(records)[1:] == [
        ("b", "URM_CHILD_TERMINATED_ON_RESTART", "terminated_on_restart"),
        ("c", *orphaned),
        ("d", *orphaned),
        ("e", *orphaned),
    ]
    assert [child.token.child_id for child in recovered] == ["b", "c", "d", "e"]
    assert verify(records) == 6


def test_an_orphans_failure_is_linked_to_its_dispatch_on_its_own_stream(records, state):
    opened(state)
    spawn(state, "a")
    leased = lease(state)
    recover(deterministic(records, "second", LATER), is_first)
    (event,) = [json.loads(line) for line in lines_of(records, SESSION) if '"stream_id":"child:a"' in line]
    assert event["ts"] == LATER
    assert event["detail"] == {
        "dispatch_seq": 1,
        "lease_id": leased.worker_run_id,
        "parent_stream_id": "copilot:demo",
        "parent_seq": 1,
        "queue_seq": 1,
        "child_id": "a",
        "phase_at_event": "terminal",
        "reason": "lease_orphaned",
        "code": "URM_SCHEDULER_LEASE_ORPHANED",
    }


def test_the_end_of_a_child_whose_cancel_was_under_way_names_the_cancel(records, state):
    mixed_session(state)
    recover(deterministic(records, "second"), is_first)
    (end,) = [json.loads(line) for line in lines_of(records, SESSION) if '"stream_id":"child:c"' in line][1:]
    assert (end["event"], end["detail"]["cancel_request_id"]) == ("WORKER_FAIL", "cancel-c")
    assert cancel_child(state, "c", "late")["status"] == "already_terminal"


def test_a_second_recovery_adds_nothing_and_nothing_is_dispatched_again(records, state):
    mixed_session(state)
    recover(deterministic(records, "second", LATER), is_first)
    before = transcript(records)
    assert recover(deterministic(records, "third", TS), is_first) == []
    assert transcript(records) == before
    again = opened(deterministic(records, "third"), cap=3)
    assert lease_child(again, SESSION) is None


def test_s7_a_session_that_was_recovered_goes_on_with_its_sequences(records, state):
    mixed_session(state)
    second = deterministic(records, "second")
    recover(second, is_first)
    opened(second, cap=3)
    spawn(second, "g")
    (token,) = run_all(second)
    assert (token.queue_seq, token.dispatch_seq) == (7, 4)
    assert verify(records) == 7


def test_a_living_coordinators_children_are_not_touched_by_another(records, state):
    opened(state)
    spawn(state, "a", "b")
    running = start_child(state, lease(state))
    second = RuntimeState(records, "second")
    assert recover(second, lambda _: False) == []
    assert finish_child(state, running, Passed()).phase == "terminal"
    assert [token.child_id for token in run_all(state)] == ["b"]


def test_a_coordinator_never_takes_itself_for_gone(records, state):
    mixed_session(state)
    assert recover(state, lambda _: True) == []


def test_a_coordinator_that_was_taken_for_gone_cannot_continue(records, state):
    opened(state)
    spawn(state, "a", "b")
    running = start_child(state, lease(state))
    recover(deterministic(records, "second"), is_first)
    before = transcript(records)
    for late in (
        lambda: lease_child(state, SESSION),
        lambda: finish_child(state, running, Passed()),
        lambda: spawn(state, "c"),
    ):
        with pytest.raises(errors.SessionInactive):
            late()
    assert transcript(records) == before


def test_recoveries_of_many_coordinators_at_once_end_each_child_once(records):
    for number in range(3):
        gone = opened(deterministic(records, f"gone-{number}"), f"s{number}")
        spawn(gone, *(f"{number}-{child}" for child in range(20)), session=f"s{number}")
        start_child(gone, lease(gone, f"s{number}"))
        lease(gone, f"s{number}")
    living = opened(deterministic(records, "living"), "alive")
    spawn(living, "x", session="alive")
    running = start_child(living, lease(living, "alive"))
    others = [deterministic(records, f"new-{number}", LATER) for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda other: recover(other, lambda name: name.startswith("gone")), others))
    assert sorted(child.token.child_id for each in found for child in each) == sorted(
        f"{number}-{child}" for number in range(3) for child in range(20)
    )
    assert finish_child(living, running, Passed()).phase == "terminal"
    assert verify(records) == 61
    for number in range(3):
        assert [int(child.split("-")[1]) for child, *_ in ends(records, f"s{number}")] == list(range(20))


def test_while_a_session_is_being_recovered_spawns_into_it_are_refused(records, state):
    mixed_session(state)
    second = deterministic(records, "second", LATER)
    records.write(lambda writing: child_recovery._recover_batch(writing, second, SESSION, "first"))  # noqa: SLF001
    with pytest.raises(errors.RecoveryPending) as refused:
        spawn(second, "g")
    assert refused.value.code == "URM_SCHEDULER_RECOVERY_PENDING"
    recover(second, is_first)
    spawn(opened(second, cap=3), "g")
    assert verify(records) == 7


def test_a_batch_that_was_ended_but_not_the_session_is_continued_with_the_time_at_which_it_began(url, records, state):
    """A recovery whose process is gone is finished by another one, at another time, in the same bytes."""
    opened(state)
    spawn(state, *(f"c{number}" for number in range(450)))
    lease(state)
    one = deterministic(records, "second", LATER)
    records.write(lambda writing: child_recovery._recover_batch(writing, one, SESSION, "first"))  # noqa: SLF001
    assert len(recover(deterministic(records, "third", TS), is_first)) == 250
    found = [json.loads(line) for line in lines_of(records, SESSION)]
    assert {event["ts"] for event in found if event["event"] == "WORKER_FAIL"} == {LATER}
    assert verify(records) == 450


def test_the_wall_clock_is_in_utc_with_microseconds_and_random_ids_serve_a_whole_session(records):
    state = RuntimeState(records, "live")
    recover(state, lambda _: False)
    opened(state)
    spawn(state, "a", "b")
    run_all(state)
    assert verify(records) == 2
    assert len(wall_time()) == len(TS)
    assert wall_time().endswith("Z")
