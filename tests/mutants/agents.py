"""Mutants of agents: of the order of dispatches, of cancels, of recovery, of events and their files."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

AGENTS = "pipelines/agents"
SQL = f"{AGENTS}/sql/records/sqlite"
TESTS = "tests/pipelines/agents/dispatch"
SOUND = f"{TESTS}/test_verify.py::test_a_session_in_every_phase_is_sound"
EVERY_BYTE = "written_and_the_rest_follows_at_every_byte"
CONTINUED = "test_a_batch_that_was_ended_but_not_the_session_is_continued_with_the_time_at_which_it_began"
FILES = f"{TESTS}/test_event_files.py"
GATE = "tests/pipelines/agents/stop_gate/test_gate.py"

MUTANTS: Final = (
    Mutant(
        "the youngest child is leased first",
        f"{SQL}/token/next_queued.sql",
        "ORDER BY queue_seq",
        "ORDER BY queue_seq DESC",
        (f"{TESTS}/test_dispatch.py::test_two_hundred_children_are_leased_in_the_order_in_which_they_were_spawned",),
    ),
    Mutant(
        "one child more than the cap may be active",
        f"{AGENTS}/child_dispatch.py",
        "[0][0] >= session.max_active_children",
        "[0][0] > session.max_active_children",
        (f"{TESTS}/test_dispatch.py::test_a_third_child_waits_until_one_of_two_has_ended",),
    ),
    Mutant(
        "started children do not count as active",
        f"{SQL}/token/count_active.sql",
        "('leased', 'started')",
        "('leased')",
        (f"{TESTS}/test_dispatch.py::test_a_third_child_waits_until_one_of_two_has_ended",),
    ),
    Mutant(
        "a lost counter of dispatches begins at one again",
        f"{SQL}/session/next_dispatch_seq.sql",
        "coalesce(max(token.dispatch_seq), 0)",
        "0",
        (f"{TESTS}/test_records.py::test_s7_a_counter_that_was_lost_continues_after_the_largest_stored_number",),
    ),
    Mutant(
        "the database lets a started child be leased again",
        f"{SQL}/migrations/0001_dispatch.sql",
        "'queued leased', 'leased started'",
        "'queued leased', 'started leased', 'leased started'",
        (f"{TESTS}/test_records.py::test_the_database_rejects_every_change_of_phase_that_does_not_go_forward",),
    ),
    Mutant(
        "the end of a cancelled child does not name the cancel",
        f"{AGENTS}/child_dispatch.py",
        "code=end.code, cancel_request_id=token.cancel_request_id",
        "code=end.code",
        (f"{TESTS}/test_dispatch.py::test_s10_a_cancel_precedes_and_names_the_end_that_it_caused",),
    ),
    Mutant(
        "an ended child is cancelled",
        f"{AGENTS}/child_dispatch.py",
        'return "already_terminal", token',
        "pass",
        (f"{TESTS}/test_dispatch.py::test_a_cancel_of_an_ended_child_is_already_terminal_and_leaves_no_event",),
    ),
    Mutant(
        "a coordinator that was taken for gone may continue",
        f"{AGENTS}/sessions.py",
        "session.coordinator is None:\n        raise SessionInactive(parent_session_id=session",
        "session.coordinator is None:\n        SessionInactive(parent_session_id=session",
        (f"{TESTS}/test_recovery.py::test_a_coordinator_that_was_taken_for_gone_cannot_continue",),
    ),
    Mutant(
        "a recovery takes every child for started",
        f"{AGENTS}/child_recovery.py",
        "TERMINATED if token.phase is DispatchPhase.STARTED else ORPHANED",
        "TERMINATED",
        (f"{TESTS}/test_recovery.py::test_an_orphans_failure_is_linked_to_its_dispatch_on_its_own_stream",),
    ),
    Mutant(
        "a recovery ends the children of living coordinators",
        f"{AGENTS}/child_recovery.py",
        "for name in gone if is_gone(name)",
        "for name in gone",
        (f"{TESTS}/test_recovery.py::test_a_living_coordinators_children_are_not_touched_by_another",),
    ),
    Mutant(
        "a recovery that is continued has a time of its own",
        f"{SQL}/session/begin_recovery.sql",
        "coalesce(recovery_ts, :ts)",
        ":ts",
        (f"{TESTS}/test_recovery.py::{CONTINUED}",),
    ),
    Mutant(
        "worker events are not mirrored",
        f"{AGENTS}/events.py",
        "return own, replace(own, stream_id=token.parent_stream_id, is_mirror=True)",
        "return own, replace(own, stream_id=token.parent_stream_id)",
        (SOUND,),
    ),
    Mutant(
        "a torn line is left in its file",
        f"{AGENTS}/event_files.py",
        "os.ftruncate(file, place)",
        "pass",
        (f"{FILES}::test_events_were_stored_but_not_all_of_their_lines_{EVERY_BYTE}",),
    ),
    Mutant(
        "a file that differs from the rows is extended",
        f"{AGENTS}/event_files.py",
        "or stored[(seq - 1) % PAGE] != line",
        "",
        (f"{FILES}::test_damage_inside_is_refused_with_its_line_and_changes_nothing",),
    ),
    Mutant(
        "the stop gate compares the first replay with the second alone",
        f"{AGENTS}/stop_gate/gate.py",
        "for replay in replays):\n        return FixtureFault.REPLAYS_DIFFER",
        "for replay in replays[:2]):\n        return FixtureFault.REPLAYS_DIFFER",
        (f"{GATE}::test_two_equal_replays_of_three_are_not_enough",),
    ),
    Mutant(
        "the stop gate takes any manifest for sound",
        f"{AGENTS}/stop_gate/manifest.py",
        "return self.found_hash == self.payload.vnext_plus9_manifest_hash",
        "return True",
        (f"{GATE}::test_a_manifest_that_is_not_the_one_its_hash_declares_voids_every_metric",),
    ),
    Mutant(
        "the stop gate does not look at what is locked",
        f"{AGENTS}/stop_gate/gate.py",
        "return None if replays[0].artifacts == lock.artifacts else FixtureFault.LOCK_DIFFERS",
        "return None",
        (f"{GATE}::test_a_lock_of_other_bytes_does_not_pass",),
    ),
)
