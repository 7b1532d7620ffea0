"""Verify: a database in which phase, events and order do not belong together is found out, whatever was edited."""

import pytest

from leasehold.pipelines.agents.child_dispatch import Passed, cancel_child, finish_child, start_child
from leasehold.pipelines.agents.errors import PhaseEventMismatch, ReplayOrderInvalid, SessionUnknown
from leasehold.pipelines.agents.sessions import read_session
from leasehold.pipelines.agents.verify import verify, violations
from tests.pipelines.agents.dispatch.coordinators import SESSION, edit, lease, mixed_session, opened, spawn

ATOMICITY = [
    "UPDATE urm_dispatch_token SET phase = 'started' WHERE child_id = 'c'",
    "UPDATE urm_dispatch_token SET phase = 'terminal' WHERE child_id = 'b'",
    "UPDATE urm_dispatch_token SET phase = 'terminal' WHERE child_id = 'c'",
    "UPDATE urm_dispatch_token SET phase = 'terminal' WHERE child_id = 'd'",
    "UPDATE urm_dispatch_token SET phase = 'started' WHERE child_id = 'a'",
    "UPDATE urm_dispatch_token SET phase = 'leased' WHERE child_id = 'b'",
    "UPDATE urm_dispatch_token SET phase = 'queued' WHERE child_id = 'f'",
    "UPDATE urm_dispatch_token SET cancel_request_id = 'x' WHERE child_id = 'b'",
    "UPDATE urm_dispatch_token SET cancel_request_id = NULL WHERE child_id = 'c'",
    "UPDATE urm_dispatch_token SET cancel_request_id = 'x' WHERE child_id = 'f'",
    "UPDATE urm_dispatch_token SET worker_run_id = 'x' WHERE child_id = 'b'",
    "UPDATE urm_event SET is_mirror = 1 - is_mirror WHERE event = 'WORKER_START'",
    "DELETE FROM urm_dispatch_token WHERE child_id = 'e'",
    "UPDATE urm_event SET body = replace(body, 'lease_id', 'lease') WHERE child_id = 'b'",
    "UPDATE urm_event SET body = replace(body, 'URM_CHILD_CANCELLED', '') WHERE child_id = 'f'",
    """UPDATE urm_event SET body = replace(body, '"started"', '"leased"') WHERE event = 'WORKER_START'""",
    "UPDATE urm_event SET body = replace(body, '03:04', '03:05') WHERE stream_id = 'child:a' AND seq = 1",
]
ORDER = [
    "DELETE FROM urm_event WHERE stream_id = 'copilot:demo' AND seq = 3",
    "DELETE FROM urm_event WHERE stream_id = 'child:a' AND seq = 2",
    "DELETE FROM urm_event WHERE event = 'WORKER_CANCEL'",
    "UPDATE urm_stream SET last_seq = 99 WHERE stream_id = 'child:a'",
    "UPDATE urm_event SET seq = 99 WHERE stream_id = 'child:b'",
    "UPDATE urm_event SET event = 'WORKER_FAIL' WHERE event = 'WORKER_PASS'",
    "UPDATE urm_event SET body = '{}' WHERE stream_id = 'child:a' AND seq = 1",
    "UPDATE urm_event SET body = 'no JSON' WHERE stream_id = 'child:a' AND seq = 1",
    "UPDATE urm_event SET body = replace(body, ',', ', ') WHERE stream_id = 'child:a' AND seq = 1",
    "UPDATE urm_event SET child_id = 'b' WHERE stream_id = 'child:a' AND seq = 1",
    "UPDATE urm_session SET dispatch_seq = 2",
    "UPDATE urm_session SET queue_seq = 5",
    "UPDATE urm_session SET max_active_children = 1",
    "UPDATE urm_dispatch_token SET dispatch_seq = 9 WHERE child_id = 'a'",
    "UPDATE urm_dispatch_token SET queue_seq = 9 WHERE child_id = 'a'",
    "UPDATE urm_dispatch_token SET parent_seq = 9 WHERE child_id = 'd'",
    "UPDATE urm_dispatch_token SET parent_stream_id = 'x' WHERE child_id = 'd'",
    "UPDATE urm_dispatch_token SET phase = 'queued', dispatch_seq = NULL, worker_run_id = NULL WHERE child_id = 'a'",
]


def test_a_session_in_every_phase_is_sound(records, state):
    mixed_session(state)
    assert verify(records) == verify(records, SESSION) == 6
    with pytest.raises(SessionUnknown):
        verify(records, "nowhere")


def test_a_child_that_was_cancelled_before_it_started_and_passed_is_sound(records, state):
    opened(state)
    spawn(state, "a")
    leased = lease(state)
    cancel_child(state, "a", "x")
    started = start_child(state, leased)
    assert verify(records) == 1
    finish_child(state, started, Passed({"output": "4"}))
    assert verify(records) == 1


@pytest.mark.parametrize("statement", ATOMICITY)
def test_a_phase_that_was_edited_apart_from_its_events_is_an_atomicity_violation(url, records, state, statement):
    mixed_session(state)
    edit(url, statement)
    with pytest.raises(PhaseEventMismatch) as found:
        verify(records)
    assert found.value.plain()["code"] == "URM_SCHEDULER_PHASE_EVENT_ATOMICITY_VIOLATION"


@pytest.mark.parametrize("statement", ORDER)
def test_an_order_that_was_edited_is_invalid(url, records, state, statement):
    mixed_session(state)
    edit(url, statement)
    found = records.read(lambda reading: [error.code for error in violations(reading, read_session(reading, SESSION))])
    assert "URM_SCHEDULER_REPLAY_ORDER_INVALID" in found
    with pytest.raises((ReplayOrderInvalid, PhaseEventMismatch)):
        verify(records)
