"""Mutants of what follows the end of a task: dead letters, revivals, retention, the outbox's order, notifications."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import POSTGRES, SQLITE, Mutant

MODEL = "tests/store/model/test_model.py"
LETTERS = "tests/store/deadletters/test_dead_letters.py"
EPOCH = f"{LETTERS}::test_a_dead_letter_names_the_attempts_and_the_first_failure_of_its_own_epoch"
PRUNE = "tests/store/test_prune.py::test_a_job_that_was_called_off_stays_while_a_stage_of_it_has_not_stopped"
RECLAIM = "tests/store/leases/test_reclaim.py"
DELIVERIES = "tests/store/test_deliveries.py"
ADVANCE = "tests/store/test_advance.py"
NOTIFICATIONS = "tests/runtime/claim/test_notifications.py"

MUTANTS: Final = (
    Mutant(
        "PostgreSQL: a letter of a sweep miscounts the attempts",
        f"{POSTGRES}/leases/reclaim.sql",
        "dead.failure, dead.attempt,",
        "dead.failure, 1,",
        (f"{EPOCH}[postgres-lost]", MODEL),
    ),
    Mutant(
        "SQLite: a dead letter names the last failure as the first",
        f"{SQLITE}/leases/settle.sql",
        "coalesce((SELECT min(event.at)",
        "coalesce((SELECT max(event.at)",
        (f"{EPOCH}[sqlite-failed]", MODEL),
    ),
    Mutant(
        "PostgreSQL: a dead letter names failures before the revival",
        f"{POSTGRES}/leases/settle.sql",
        "AND event.fence > coalesce((SELECT max(fence) FROM leasehold.dead_letter WHERE task_id = dead.task_id), 0)",
        "",
        (f"{EPOCH}[postgres-failed]", MODEL),
    ),
    Mutant(
        "SQLite: a start from the beginning leaves other letters open",
        f"{SQLITE}/deadletters/revive.sql",
        "AND state = 'open' AND id <> :letter;",
        "AND false;",
        (f"{LETTERS}::test_a_start_from_the_beginning_closes_the_letters_of_the_other_stages_too[sqlite]",),
    ),
    Mutant(
        "PostgreSQL: a job goes although nobody looked at the end of its stage",
        f"{POSTGRES}/retention/find_prunable.sql",
        "       OR EXISTS (SELECT 1 FROM leasehold.unsettled WHERE unsettled.task_id = member.id)\n",
        "",
        (f"{PRUNE}[postgres-unsettled]",),
    ),
    Mutant(
        "SQLite: a job goes although a stage of it runs",
        f"{SQLITE}/retention/find_prunable.sql",
        "       OR EXISTS (SELECT 1 FROM main.lease WHERE lease.task_id = member.id)\n",
        "",
        (f"{PRUNE}[sqlite-lease]",),
    ),
    Mutant(
        "SQLite: the last message is taken first",
        f"{SQLITE}/deliveries/claim.sql",
        "ORDER BY due_at LIMIT",
        "ORDER BY due_at DESC LIMIT",
        (f"{DELIVERIES}::test_l3_what_has_been_due_for_the_longest_is_taken_first[sqlite]",),
    ),
    Mutant(
        "SQLite: what was marked is marked again",
        f"{SQLITE}/deliveries/mark.sql",
        "\n  AND delivery.status IN ('sending', 'reconciling')",
        "",
        (f"{DELIVERIES}::test_s14_what_is_marked_is_marked_once[sqlite]",),
    ),
    Mutant(
        "PostgreSQL: what was due first is ready last",
        f"{POSTGRES}/stages/make_due.sql",
        "ORDER BY linked.due_at, linked.task_id",
        "ORDER BY linked.task_id DESC",
        (f"{ADVANCE}::test_l3_what_was_due_first_is_ready_first[postgres]", MODEL),
    ),
    Mutant(
        "SQLite: what was due first is ready last",
        f"{SQLITE}/stages/make_due.sql",
        "ORDER BY waiting.due_at, waiting.task_id LIMIT",
        "ORDER BY waiting.due_at DESC, waiting.task_id DESC LIMIT",
        (f"{ADVANCE}::test_l3_what_was_due_first_is_ready_first[sqlite]", MODEL),
    ),
    Mutant(
        "SQLite: a fan-out names the last segment that failed",
        f"{SQLITE}/stages/count_part_outcomes.sql",
        "task.id\n        ) AS number",
        "task.id DESC\n        ) AS number",
        (f"{ADVANCE}::test_a_stage_of_which_many_segments_failed_names_the_first_of_them[sqlite]", MODEL),
    ),
    Mutant(
        "PostgreSQL: progress of an earlier attempt is kept",
        f"{POSTGRES}/leases/progress.sql",
        " AND lease.fence = item.fence\n",
        "\n",
        (f"{RECLAIM}::test_s2_progress_of_an_earlier_attempt_is_not_taken_for_that_of_the_next[postgres]", MODEL),
    ),
    Mutant(
        "nobody else is notified of work that upkeep made ready",
        "runtime/worker.py",
        "        self._store.wake(queues)\n\n    def _on_more",
        "        pass\n\n    def _on_more",
        (
            f"{NOTIFICATIONS}::test_processes_that_serve_another_queue_are_notified_of_work_that_upkeep_made_ready_there[sqlite]",
        ),
    ),
    Mutant(
        "nobody is notified of what was given back unstarted",
        "runtime/worker.py",
        "            self._store.wake({one.queue for one in reclaimed}, self._listener.address)",
        "            pass",
        (f"{NOTIFICATIONS}::test_others_are_notified_of_what_a_stopping_worker_gives_back_unstarted[sqlite]",),
    ),
    Mutant(
        "a handler that outlives the grace is not notified",
        "runtime/worker.py",
        "if attempt.state is State.RUNNING and attempt.lose()]",
        "if attempt.state is State.RUNNING]",
        (f"{NOTIFICATIONS}::test_a_handler_for_which_the_grace_was_too_short_is_asked_to_stop[sqlite]",),
    ),
    Mutant(
        "upkeep is not notified of a retry",
        "runtime/commit/committer.py",
        'one.has_dependents or one.status == "RETRY"',
        "one.has_dependents",
        (f"{NOTIFICATIONS}::test_upkeep_is_notified_at_once_of_what_makes_work_for_it_and_of_nothing_else",),
    ),
    Mutant(
        "upkeep is not notified of a message",
        "runtime/commit/committer.py",
        " or any(end.deliveries for _, end in batch)",
        "",
        (f"{NOTIFICATIONS}::test_upkeep_is_notified_at_once_of_what_makes_work_for_it_and_of_nothing_else",),
    ),
    Mutant(
        "nobody looks for a task whose lease was taken back",
        "runtime/commit/committer.py",
        "            self._on_upkeep_due()  # a lease that was reclaimed may have left work for upkeep\n",
        "",
        (
            f"{NOTIFICATIONS}::test_upkeep_is_notified_of_an_attempt_that_came_too_late_since_its_task_may_be_ready_again",
        ),
    ),
    Mutant(
        "upkeep sleeps beyond what is due",
        "runtime/maintain/upkeep.py",
        "due = [] if pulse.due_at is None else [pulse.due_at]",
        "due: list[int] = []",
        (f"{NOTIFICATIONS}::test_upkeep_asks_again_when_the_next_task_is_due_and_not_a_whole_pulse_later",),
    ),
    Mutant(
        "a queue's cap of this worker is ignored",
        "runtime/claim/held.py",
        "return free if cap is None else min(free, cap - self._busy_by_queue[base_of(queue)])",
        "return free",
        ("tests/runtime/claim/test_claimer.py::test_a_worker_takes_no_more_of_a_queue_than_its_own_cap_allows",),
    ),
    Mutant(
        "an effect is asked for together with its own record",
        "runtime/commit/requests.py",
        "            if request.identity in seen:",
        "            if False:",
        (f"{NOTIFICATIONS}::test_an_effect_that_is_asked_for_again_before_its_result_is_written_gets_that_result",),
    ),
    Mutant(
        "an end that is refused takes its group with it",
        "runtime/commit/committer.py",
        "            for item in batch:\n                self._write_ends([item])\n            return",
        "            self._give_up(batch, error)\n            return",
        (f"{NOTIFICATIONS}::test_an_end_that_the_database_refuses_fails_alone",),
    ),
    Mutant(
        "progress that came too late is taken for granted",
        "runtime/commit/committer.py",
        "            if attempt is not None and attempt.lose():\n"
        '                self._events.lease_lost(attempt.lease, "found while reporting progress")',
        "            pass",
        (f"{NOTIFICATIONS}::test_s2_an_attempt_whose_progress_came_too_late_learns_that_its_lease_is_gone",),
    ),
)
