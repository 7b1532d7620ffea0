"""Mutants of the clock, the connections and the parts of a worker."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

CLOCK = "tests/store/db/test_clock.py::test_every_time_that_is_stored_comes_from_the_databases_clock"
TROUBLE = "tests/store/db/test_postgres_trouble.py"
HEARTBEAT = "tests/runtime/maintain/test_heartbeat.py"
RESOURCES = "tests/runtime/test_resources.py"
SWEEPER = "tests/runtime/maintain/test_sweeper.py"
BLOCKED = (
    f"{HEARTBEAT}::test_a_lease_is_kept_while_handlers_block_the_loop_and_compute_for_five_times_its_length[sqlite]"
)

MUTANTS: Final = (
    Mutant(
        "SQLite: the clock of the process that writes",
        "store/db/sqlite.py",
        "            self._time.now = self._read_clock(host, write=write)\n",
        "            self._time.now = host.wall\n",
        (f"{CLOCK}[sqlite]",),
    ),
    Mutant(
        "PostgreSQL: the clock of the process that writes",
        "store/db/postgres.py",
        'cursor.execute(statements.encoded("postgres", name), values, binary=True, prepare=self._prepare)',
        'cursor.execute(statements.encoded("postgres", name).decode().replace("leasehold.leasehold_now()", '
        "f\"{__import__('time').time_ns() // 1000}::bigint\").encode(), values, binary=True, prepare=False)",
        (f"{CLOCK}[postgres]",),
    ),
    Mutant(
        "no jitter",
        "model/retry.py",
        '    return int.from_bytes(digest[:8], "big") / 2**64\n',
        "    return float(bool(digest))\n",
        ("tests/model/test_retry.py::test_the_jitter_is_spread_evenly",),
    ),
    Mutant(
        "leases are not renewed while their handler runs",
        "runtime/maintain/heartbeat.py",
        "        needed = (State.CLAIMED, State.RUNNING, State.ENDED)\n",
        "        needed = (State.CLAIMED, State.ENDED)\n",
        (BLOCKED,),
    ),
    Mutant(
        "an attempt begins after its time ran out",
        "runtime/attempt.py",
        "clock.uptime() >= self.deadline or not self.begin()",
        "not self.begin()",
        (f"{HEARTBEAT}::test_s2_an_attempt_whose_time_ran_out_before_it_started_is_lost_and_never_begins[sqlite]",),
    ),
    Mutant(
        "a worker claims without a connection for its committer",
        "runtime/claim/claimer.py",
        "            self._reserve()\n",
        "",
        (f"{RESOURCES}::test_a_worker_claims_only_while_there_is_a_connection_for_committer_and_heartbeat",),
    ),
    Mutant(
        "the heartbeat beats on the handlers' loop",
        "runtime/worker.py",
        "        self._heartbeat.on_claimed(attempts)\n",
        "        loop = self._runner._lanes.loop\n"
        "        def poll_once() -> None:\n"
        "            self._heartbeat.renew()\n"
        "            self._heartbeat.watch()\n"
        "            loop.call_later(0.02, poll_once)\n"
        "        loop.call_soon_threadsafe(poll_once)\n",
        (BLOCKED,),
    ),
    Mutant(
        "a renewal that was refused is taken for granted",
        "runtime/maintain/heartbeat.py",
        "            elif _is_kept(attempt) and attempt.lose():\n",
        "            elif False:\n",
        (f"{HEARTBEAT}::test_a_lease_that_went_to_another_is_lost_at_the_next_renewal[sqlite]",),
    ),
    Mutant(
        "a settlement that did not land is taken for one that did",
        "runtime/commit/committer.py",
        "        if len(landed) < len(batch):\n",
        "        if len(landed) > len(batch):\n",
        (f"{HEARTBEAT}::test_s2_an_end_that_came_too_late_is_not_taken_for_one_that_landed[sqlite]",),
    ),
    Mutant(
        "a COMMIT without an answer is taken for a failure",
        "store/leases.py",
        "        if in_doubt and len(settled) < len(settlements):\n",
        "        if False:\n",
        ("tests/store/db/test_lost_answers.py::test_a_settlement_whose_answer_was_lost_is_reported_as_landed",),
    ),
    Mutant(
        "what a lost answer has claimed is kept until it expires",
        "runtime/claim/claimer.py",
        "        if claimed.in_doubt:\n",
        "        if False:\n",
        ("tests/runtime/test_sturdy.py::test_leases_that_a_claim_took_without_an_answer_are_given_back[sqlite]",),
    ),
    Mutant(
        "a renewed lease is counted from the answer",
        "runtime/maintain/heartbeat.py",
        "attempt.extend(asked_at)",
        "attempt.extend(clock.uptime())",
        (f"{HEARTBEAT}::test_s2_a_renewed_lease_is_counted_from_the_moment_it_was_asked_for",),
    ),
    Mutant(
        "a claimed lease is counted from the answer",
        "runtime/claim/claimer.py",
        "Attempt(lease, self._handlers[lease.route], asked_at)",
        "Attempt(lease, self._handlers[lease.route], clock.uptime())",
        ("tests/runtime/claim/test_claimer.py::test_s2_a_lease_is_counted_from_the_moment_it_was_asked_for",),
    ),
    Mutant(
        "a deadlock is final",
        "store/db/postgres.py",
        "        if state in RETRY:\n",
        '        if state in RETRY and state != "40P01":\n',
        (f"{TROUBLE}::test_a_deadlock_is_resolved_and_both_sides_succeed",),
    ),
    Mutant(
        "late rows are never looked for",
        "runtime/claim/claimer.py",
        "            self._hints.forget()\n",
        "            pass\n",
        (
            "tests/runtime/claim/test_claimer.py::test_l3_a_claimer_that_finds_nothing_ahead_looks_everywhere_again_in_a_while",
        ),
    ),
    Mutant(
        "a gone neighbour is forgotten before its leases are taken back",
        "runtime/maintain/sweeper.py",
        "held, pending = self._store.losses.of_worker(neighbour.worker), ",
        "held, pending = [], ",
        (f"{SWEEPER}::test_s12_a_task_that_kills_its_worker_runs_out_of_losses[sqlite]",),
    ),
    Mutant(
        "a suspect runs in the worker with all others",
        "runtime/claim/claimer.py",
        "attempt.isolated = attempt.isolated or attempt.lease.is_suspect",
        "pass",
        ("tests/runtime/claim/test_suspects.py::test_s12_a_few_suspects_are_claimed_at_once_and_each_is_isolated",),
    ),
    Mutant(
        "one that cannot be isolated runs next to others",
        "runtime/claim/claimer.py",
        "self.suspects.has(isolated=False) and self._held.is_empty",
        "self.suspects.has(isolated=False) and self._held.capacity.busy == 0",
        (
            "tests/runtime/claim/test_suspects.py::test_s12_one_that_cannot_be_isolated_waits_for_an_idle_worker_and_takes_every_place",
        ),
    ),
    Mutant(
        "what had not begun is not looked up",
        "runtime/claim/pending_file.py",
        "_SLOT.pack_into(self._map, offset, *lease)",
        "pass",
        (
            "tests/runtime/claim/test_suspects.py::test_s12_what_was_claimed_and_has_not_begun_is_known_after_the_worker_is_gone",
        ),
    ),
    Mutant(
        "a neighbour is noted as gone while a lease of its is left",
        "runtime/maintain/sweeper.py",
        "if len(reclaimed) == len(held):",
        "if True:",
        (f"{SWEEPER}::test_l1_an_owner_is_not_noted_as_gone_before_all_its_leases_are_taken_back",),
    ),
    Mutant(
        "the trouble of a sweep keeps upkeep from the rest",
        "runtime/maintain/upkeep.py",
        '            self._events.component_failed("upkeep", error)\n            return set()\n',
        "            raise\n",
        (f"{SWEEPER}::test_what_cannot_be_swept_does_not_keep_upkeep_from_the_rest",),
    ),
    Mutant(
        "a lease is relied upon to its very end",
        "runtime/attempt.py",
        "asked_at + span - min(span // 10, clock.SECOND)",
        "asked_at + span",
        (f"{HEARTBEAT}::test_s2_a_renewed_lease_is_counted_from_the_moment_it_was_asked_for",),
    ),
    Mutant(
        "sweeps never begin at the start again",
        "runtime/limits.py",
        "SWEEP_FULL_EVERY: Final = 10\n",
        "SWEEP_FULL_EVERY: Final = 10**9\n",
        (f"{SWEEPER}::test_l1_a_lease_that_sweeps_could_not_take_is_found_again_although_they_have_passed_it",),
    ),
    Mutant(
        "SQLite: a write begins as a read",
        "store/db/sqlite.py",
        '"BEGIN IMMEDIATE" if write else "BEGIN"',
        '"BEGIN"',
        (
            "tests/store/db/test_sqlite_trouble.py::test_a_transaction_that_will_write_has_the_lock_from_its_first_read_on",
        ),
    ),
    Mutant(
        "SQLite: COMMIT does not wait for the disk",
        "store/sql/sqlite/session/pragmas.sql",
        "PRAGMA synchronous = FULL;",
        "PRAGMA synchronous = NORMAL;",
        ("tests/chaos/test_disks.py::test_s3_what_was_acknowledged_is_there_after_the_power_went",),
    ),
    Mutant(
        "PostgreSQL: COMMIT does not wait for the disk",
        "store/db/postgres.py",
        "\" SET idle_in_transaction_session_timeout = '2s'\"",
        "\" SET idle_in_transaction_session_timeout = '2s'; SET synchronous_commit = off\"",
        (f"{TROUBLE}::test_a_server_stopped_at_once_and_started_again_under_load_loses_nothing",),
    ),
    Mutant(
        "a secret of a failure is put on record",
        "model/failure/wording.py",
        "redact(",
        "str(",
        ("tests/model/test_failure_texts.py::test_secrets_are_taken_out_of_message_stack_and_chain_by_default",),
    ),
)
