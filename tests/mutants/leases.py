"""Mutants of the statements that claim, settle and take back."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import POSTGRES, SQLITE, Mutant

MODEL = "tests/store/model/test_model.py"
SETTLE = "tests/store/leases/test_settle.py"
CLAIM = "tests/store/leases/test_claim.py"
RECLAIM = "tests/store/leases/test_reclaim.py"
BAD_DEPLOYMENT = "tests/runtime/claim/test_bad_deployment.py"
CLEARED = "tests/store/leases/test_cleared.py"
SUSPECTS = "tests/runtime/claim/test_suspects.py"
LIMITS = "tests/store/leases/test_limits.py"
REFUSED = (
    "tests/store/leases/test_refused_writes.py::"
    "test_s6_a_change_of_which_one_row_is_refused_does_not_happen_and_can_be_made_later"
)

MUTANTS: Final = (
    Mutant(
        "SQLite: settle without the fence",
        f"{SQLITE}/leases/settle.sql",
        " AND lease.fence = item.value ->> 'fence'",
        "",
        (f"{SETTLE}::test_s2_the_same_worker_holding_attempt_two_cannot_settle_with_attempt_one[sqlite]", MODEL),
    ),
    Mutant(
        "PostgreSQL: settle without the fence",
        f"{POSTGRES}/leases/settle.sql",
        " AND lease.fence = item.fence",
        "\n",
        (f"{SETTLE}::test_s2_the_same_worker_holding_attempt_two_cannot_settle_with_attempt_one[postgres]", MODEL),
    ),
    Mutant(
        "SQLite: settle after the lease's end",
        f"{SQLITE}/leases/settle.sql",
        "WHERE lease.expires_at > leasehold_now();",
        ";",
        (f"{SETTLE}::test_s2_an_expired_lease_cannot_settle_even_if_nobody_took_it_back[sqlite]", MODEL),
    ),
    Mutant(
        "PostgreSQL: settle after the lease's end",
        f"{POSTGRES}/leases/settle.sql",
        " AND lease.expires_at - clock.now > 0",
        "",
        (f"{SETTLE}::test_s2_an_expired_lease_cannot_settle_even_if_nobody_took_it_back[postgres]", MODEL),
    ),
    Mutant(
        "rowcount ignored: every write counts as done",
        "store/leases.py",
        "        settled = [Settled(*row) for row in rows]\n",
        "        settled = [Settled(end.task_id, end.fence, end.status, False) for end in settlements]\n",
        (f"{SETTLE}::test_each_of_a_batch_is_answered_by_itself",),
    ),
    Mutant(
        "SQLite: settle without its event",
        f"{SQLITE}/leases/settle.sql",
        "FROM temp.leasehold_ended;\n\nSELECT task_id, fence, status, has_dependents",
        "FROM temp.leasehold_ended WHERE false;\n\nSELECT task_id, fence, status, has_dependents",
        (f"{SETTLE}::test_the_journal_holds_every_attempt_with_its_worker[sqlite]", MODEL),
    ),
    Mutant(
        "PostgreSQL: settle without its event",
        f"{POSTGRES}/leases/settle.sql",
        "worker, detail, link FROM linked\n)",
        "worker, detail, link FROM linked WHERE false\n)",
        (f"{SETTLE}::test_the_journal_holds_every_attempt_with_its_worker[postgres]", MODEL),
    ),
    Mutant(
        "SQLite: settle writes its event after the commit",
        f"{SQLITE}/leases/settle.sql",
        "INSERT INTO main.event (task_id, at, name, fence, attempt, worker, detail, mark)\n",
        "COMMIT;\n\nBEGIN IMMEDIATE;\n\n"
        "INSERT INTO main.event (task_id, at, name, fence, attempt, worker, detail, mark)\n",
        (f"{REFUSED}[sqlite-finishing-event]",),
    ),
    Mutant(
        "SQLite: claim writes its event after the commit",
        f"{SQLITE}/leases/claim.sql",
        "INSERT INTO main.event (task_id, at, name, fence, attempt, worker, mark)\n",
        "COMMIT;\n\nBEGIN IMMEDIATE;\n\nINSERT INTO main.event (task_id, at, name, fence, attempt, worker, mark)\n",
        (f"{REFUSED}[sqlite-claiming-event]",),
    ),
    Mutant(
        "the end of a stage is not passed on",
        f"{SQLITE}/leases/settle.sql",
        "WHERE has_dependents AND status <> 'RETRY'",
        "WHERE false",
        ("tests/store/test_advance.py::test_a_stage_runs_when_what_it_waits_for_is_done[sqlite]",),
    ),
    Mutant(
        "a slot is not freed",
        f"{SQLITE}/leases/settle.sql",
        "(SELECT task_id FROM temp.leasehold_ended WHERE limited)",
        "(SELECT task_id FROM temp.leasehold_ended WHERE false)",
        (f"{LIMITS}::test_every_end_of_a_lease_frees_its_slot",),
    ),
    Mutant(
        "two claims fill the same slot",
        f"{POSTGRES}/queues/free_slots.sql",
        " FOR UPDATE OF slot SKIP LOCKED",
        "",
        (f"{LIMITS}::test_sixteen_claimers_on_a_limit_of_four_never_exceed_it[postgres]",),
    ),
    Mutant(
        "a cancelled task ends as it likes",
        f"{POSTGRES}/leases/settle.sql",
        "CASE WHEN lease.cancel_reason IS NOT NULL THEN 'CANCELLED' WHEN item.clash",
        "CASE WHEN item.clash",
        (f"{SETTLE}::test_a_task_asked_to_stop_ends_cancelled_whatever_came_of_it", MODEL),
    ),
    Mutant(
        "messages are written whatever came of the task",
        f"{SQLITE}/leases/settle.sql",
        "WHERE ended.status = 'DONE' AND ended.deliveries IS NOT NULL",
        "WHERE ended.deliveries IS NOT NULL",
        ("tests/store/test_deliveries.py::test_only_a_task_that_is_done_delivers",),
    ),
    Mutant(
        "a conflicting message is dropped",
        f"{POSTGRES}/leases/settle.sql",
        "DO UPDATE SET message = delivery.message\n"
        "    WHERE leasehold.retry_if(delivery.message <> EXCLUDED.message OR delivery.provider <> EXCLUDED.provider)",
        "DO NOTHING",
        (f"{SETTLE}::test_a_message_committed_while_another_for_the_same_recipient_is_written_is_not_dropped",),
    ),
    Mutant(
        "SQLite: attempts are not counted by the claim",
        f"{SQLITE}/leases/claim.sql",
        "ready.attempt + 1, ready.fence + 1, ready.epoch",
        "ready.attempt, ready.fence + 1, ready.epoch",
        (f"{RECLAIM}::test_s12_a_lost_worker_spends_a_loss_and_no_attempt_until_the_losses_are_spent[sqlite]", MODEL),
    ),
    Mutant(
        "PostgreSQL: attempts are not counted by the claim",
        f"{POSTGRES}/leases/claim.sql",
        "attempt + 1 AS attempt",
        "attempt AS attempt",
        (f"{RECLAIM}::test_s12_a_lost_worker_spends_a_loss_and_no_attempt_until_the_losses_are_spent[postgres]", MODEL),
    ),
    Mutant(
        "a lost worker costs nothing",
        f"{POSTGRES}/leases/reclaim.sql",
        "lease.losses + item.began::integer AS losses",
        "lease.losses AS losses",
        (f"{RECLAIM}::test_s12_a_lost_worker_spends_a_loss_and_no_attempt_until_the_losses_are_spent[postgres]", MODEL),
    ),
    Mutant(
        "the fence does not grow",
        f"{SQLITE}/leases/claim.sql",
        "ready.attempt + 1, ready.fence + 1, ready.epoch",
        "ready.attempt + 1, max(1, ready.fence), ready.epoch",
        (f"{SETTLE}::test_s2_a_worker_that_slept_past_its_lease_cannot_settle_the_next_attempt[sqlite]", MODEL),
    ),
    Mutant(
        "claims wait for each other",
        f"{POSTGRES}/leases/claim.sql",
        " FOR UPDATE SKIP LOCKED",
        "",
        (f"{CLAIM}::test_a_claim_does_not_wait_for_one_that_is_under_way",),
    ),
    Mutant(
        "a claim's LIMIT in a subquery that the planner may run again",
        f"{POSTGRES}/leases/claim.sql",
        "WHERE ctid = ANY(ARRAY(SELECT place FROM chosen))",
        "WHERE ctid IN (SELECT ready.ctid FROM lane JOIN leasehold.ready ON ready.queue = lane.queue"
        " AND ready.priority BETWEEN lane.low AND lane.high AND ready.position > lane.after"
        " AND ready.route = ANY(ARRAY(SELECT jsonb_array_elements_text(%(routes)s::jsonb)))"
        " ORDER BY lane.number, ready.priority DESC, ready.position"
        " LIMIT %(most)s::integer FOR UPDATE OF ready SKIP LOCKED)",
        ("tests/store/db/test_plans.py::test_a_claim_of_one_returns_one_under_hostile_planner_settings",),
    ),
    Mutant(
        "a paused queue is claimed from",
        f"{SQLITE}/leases/claim.sql",
        "WHERE queue.paused AND (queue.name",
        "WHERE queue.paused AND (false AND queue.name",
        (f"{CLAIM}::test_a_paused_queue_is_not_claimed_from_until_it_is_resumed[sqlite]",),
    ),
    Mutant(
        "a lease is taken back before its time",
        f"{SQLITE}/leases/reclaim.sql",
        "WHERE item.value ->> 'why' <> 'expired' OR lease.expires_at <= leasehold_now();",
        ";",
        (f"{RECLAIM}::test_a_sweep_never_takes_a_lease_that_was_renewed_after_it_looked[sqlite]",),
    ),
    Mutant(
        "a lease is taken back from another",
        f"{POSTGRES}/leases/reclaim.sql",
        " AND lease.fence = item.fence\n    JOIN leasehold.task",
        "\n    JOIN leasehold.task",
        (f"{RECLAIM}::test_a_sweep_never_takes_a_newer_lease_of_the_same_task[postgres]", MODEL),
    ),
    Mutant(
        "a task that kills its workers is tried for ever",
        f"{SQLITE}/leases/reclaim.sql",
        "WHEN task.on_lost = 'bury' OR item.value ->> 'failure' IS NOT NULL THEN 'ERROR'",
        "WHEN task.on_lost = 'bury' THEN 'ERROR'",
        (f"{RECLAIM}::test_s12_a_lost_worker_spends_a_loss_and_no_attempt_until_the_losses_are_spent[sqlite]", MODEL),
    ),
    Mutant(
        "a released attempt is spent",
        f"{SQLITE}/leases/reclaim.sql",
        "    CASE WHEN began THEN attempt ELSE attempt - 1 END, fence, epoch, losses, mark\nFROM",
        "    attempt, fence, epoch, losses, mark\nFROM",
        (f"{RECLAIM}::test_a_released_lease_spends_no_attempt_and_keeps_its_fence[sqlite]", MODEL),
    ),
    Mutant(
        "what had not begun is charged",
        "model/failure/loss.py",
        "return Reclaim(lost.task_id, lost.fence, lost.why, began=False)",
        "return Reclaim(lost.task_id, lost.fence, lost.why)",
        (f"{RECLAIM}::test_s12_what_had_not_begun_loses_nothing_and_comes_back_at_once[sqlite]",),
    ),
    Mutant(
        "a lost task waits behind the whole backlog",
        f"{POSTGRES}/stages/make_due.sql",
        "coalesce(position, nextval(",
        "coalesce(NULL, nextval(",
        (f"{RECLAIM}::test_a_lost_task_stands_where_it_stood_before_after_the_second_loss_with_a_delay[postgres]",),
    ),
    Mutant(
        "those that were lost with a convicted task stay suspects",
        "runtime/maintain/clearing.py",
        "if cleared := self._store.losses.clear(task_id):",
        "if cleared := []:",
        (f"{SUSPECTS}::test_s12_when_a_suspect_is_convicted_those_that_were_lost_with_it_run_with_all_others_again",),
    ),
    Mutant(
        "a worker that has just started claims every suspect",
        "runtime/claim/suspects.py",
        "return claimable_losses((clock.uptime() - self._began_at) / clock.SECOND)",
        "return claimable_losses(float('inf'))",
        (
            f"{BAD_DEPLOYMENT}::test_s12_hours_of_workers_that_die_after_their_start_bury_nothing_and_a_good_one_does_it_all",
        ),
    ),
    Mutant(
        "SQLite: a claim passes the age that a suspect asks of its worker",
        f"{SQLITE}/leases/claim.sql",
        "AND (lane.value ->> 'losses' IS NULL OR candidate.losses <= lane.value ->> 'losses')",
        "",
        (
            f"{BAD_DEPLOYMENT}::test_s12_hours_of_workers_that_die_after_their_start_bury_nothing_and_a_good_one_does_it_all",
        ),
    ),
    Mutant(
        "SQLite: what runs is not cleared",
        f"{SQLITE}/losses/clear.sql",
        "WHERE lease.losses >= shared.losses",
        "WHERE false",
        (f"{CLEARED}::test_s12_what_runs_or_waits_for_a_retry_is_cleared_where_it_stands_once[sqlite]",),
    ),
    Mutant(
        "PostgreSQL: what was cleared while it ran stands with the suspects when it is lost again",
        f"{POSTGRES}/losses/clear.sql",
        "position = CASE WHEN linked.losses > 1 THEN lease.position ELSE linked.position END",
        "position = lease.position",
        (f"{CLEARED}::test_s12_one_that_was_cleared_while_it_ran_and_is_lost_again_stands_with_all_others[postgres]",),
    ),
    Mutant(
        "losses are taken back twice",
        f"{SQLITE}/losses/clear.sql",
        "AND earlier.name = 'cleared' AND known.value = event.worker)",
        "AND earlier.name = 'cleared' AND false)",
        (f"{CLEARED}::test_clearing_again_takes_nothing_more_back[sqlite]",),
    ),
    Mutant(
        "losses of an earlier epoch are taken back from a later one",
        f"{POSTGRES}/losses/clear.sql",
        "AND revival.name = 'revived'), 0)",
        "AND false), 0)",
        (f"{CLEARED}::test_losses_of_an_earlier_epoch_are_not_taken_back_from_a_later_one[postgres]",),
    ),
    Mutant(
        "suspects are claimed with all others",
        f"{SQLITE}/stages/make_due.sql",
        "CASE WHEN moved.losses > 1 THEN '!' ELSE '' END",
        "''",
        (f"{RECLAIM}::test_s12_after_a_second_loss_only_a_claim_for_suspects_finds_a_task[sqlite]",),
    ),
    Mutant(
        "a burial by a sweep leaves no letter",
        f"{SQLITE}/leases/reclaim.sql",
        "WHERE dead.status = 'ERROR';",
        "WHERE false;",
        (
            "tests/store/deadletters/test_dead_letters.py::test_a_task_buried_by_a_sweep_leaves_a_letter_as_any_other_burial_does",
        ),
    ),
    Mutant(
        "an expired lease is renewed",
        f"{SQLITE}/leases/renew.sql",
        " AND lease.expires_at > leasehold_now()",
        "",
        (f"{RECLAIM}::test_a_lease_that_expired_is_not_renewed[sqlite]", MODEL),
    ),
)
