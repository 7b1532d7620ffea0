"""Mutants of budgets and linked jobs."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import POSTGRES, SQLITE, Mutant

POINTS = "tests/simulation/test_crash_points.py"
BUDGETS = "tests/store/tree/test_budgets.py"
LINKS = "tests/store/tree/test_links.py"
SPEND = "tests/app/tree/test_spend.py"
SUBMIT = "tests/app/tree/test_submit.py"
REPLAY = "tests/replay/test_tree.py"
VERIFY = "tests/insight/test_verify_tree.py"

MUTANTS: Final = (
    Mutant(
        "SQLite: a debit is held against the limit alone",
        f"{SQLITE}/budgets/spend.sql",
        "amount <= most - spent AS fits,",
        "amount <= most AS fits,",
        (f"{BUDGETS}::test_s9_what_would_pass_the_limit_is_refused_and_what_fits_after_it_is_not[sqlite]", POINTS),
    ),
    Mutant(
        "PostgreSQL: a debit is held against the limit alone",
        f"{POSTGRES}/budgets/spend.sql",
        "amount <= most - spent AS fits,",
        "amount <= most AS fits,",
        (f"{BUDGETS}::test_s9_what_would_pass_the_limit_is_refused_and_what_fits_after_it_is_not[postgres]",),
    ),
    Mutant(
        "PostgreSQL: a budget is looked at before it is locked",
        f"{POSTGRES}/budgets/spend.sql",
        "    ORDER BY budget.job_id, budget.name FOR NO KEY UPDATE OF budget\n",
        "    ORDER BY budget.job_id, budget.name\n",
        (f"{BUDGETS}::test_s9_debits_from_many_connections_at_once_never_pass_the_limit[postgres]",),
    ),
    Mutant(
        "debits of one batch do not see one another",
        f"{SQLITE}/budgets/spend.sql",
        "turn.most, turn.amount <= turn.most - walk.total,",
        "turn.most, turn.amount <= turn.most - turn.spent,",
        (f"{BUDGETS}::test_s9_many_debits_of_one_batch_follow_one_another[sqlite]",),
    ),
    Mutant(
        "SQLite: a debit without the fence",
        f"{SQLITE}/budgets/spend.sql",
        "CROSS JOIN main.lease ON lease.task_id = item.value ->> 'task_id' AND lease.fence = item.value ->> 'fence'",
        "CROSS JOIN main.lease ON lease.task_id = item.value ->> 'task_id'",
        (f"{BUDGETS}::test_s2_a_zombie_spends_nothing[sqlite]",),
    ),
    Mutant(
        "PostgreSQL: a debit without the fence",
        f"{POSTGRES}/budgets/spend.sql",
        "FROM item JOIN standing ON standing.task_id = item.task_id AND standing.fence = item.fence",
        "FROM item JOIN standing ON standing.task_id = item.task_id",
        (f"{BUDGETS}::test_s2_a_zombie_spends_nothing[postgres]",),
    ),
    Mutant(
        "a debit after the end of its lease",
        f"{SQLITE}/budgets/spend.sql",
        "WHERE lease.expires_at > leasehold_now();",
        "WHERE true;",
        (f"{BUDGETS}::test_s2_an_attempt_whose_lease_expired_spends_nothing[sqlite]",),
    ),
    Mutant(
        "a debit leaves no line in the journal",
        f"{POSTGRES}/budgets/spend.sql",
        "FROM chained, clock ORDER BY number",
        "FROM chained, clock WHERE verdict <> 'spent' ORDER BY number",
        (f"{BUDGETS}::test_a_debit_is_counted_and_the_answer_is_what_is_left[postgres]",),
    ),
    Mutant(
        "every attempt pays again",
        "model/tree/budget.py",
        '{"amount": amount, "name": name, "number": how}',
        '{"amount": amount, "fence": lease.fence, "name": name, "number": how}',
        (f"{SPEND}::test_a_handler_that_runs_again_does_not_pay_again[sqlite-sync]", POINTS),
    ),
    Mutant(
        "equal spends of one attempt are one",
        "runtime/effects/spending.py",
        "self._asked[name, amount] += key is None",
        "self._asked[name, amount] = 1",
        (f"{SPEND}::test_equal_spends_are_counted_and_their_order_does_not_matter[sqlite]",),
    ),
    Mutant(
        "a refusal is taken for an answer",
        "runtime/effects/spending.py",
        "        case DebitAnswer.REFUSED:\n",
        '        case "never":\n',
        (f"{SPEND}::test_s9_what_would_pass_the_limit_is_refused_changes_nothing_and_is_not_retried[sqlite]",),
    ),
    Mutant(
        "the end of an attempt overtakes the spends that it did not await",
        "runtime/attempt.py",
        "            await self.task.pending.finish()\n",
        "",
        (f"{SPEND}::test_a_refusal_that_an_async_handler_does_not_await_fails_its_task[sqlite]",),
    ),
    Mutant(
        "PostgreSQL: a linked job spends from a budget of its own",
        f"{POSTGRES}/budgets/spend.sql",
        "coalesce(tree.root_id, given.job_id) AS root_id",
        "given.job_id AS root_id",
        (f"{LINKS}::test_s9_the_whole_tree_spends_from_the_budget_at_the_root[postgres]",),
    ),
    Mutant(
        "every attempt makes another child",
        "model/tree/link.py",
        'canonical.encode({"key": name})',
        'canonical.encode({"fence": lease.fence, "key": name})',
        (f"{LINKS}::test_a_child_is_made_once_however_often_it_is_asked_for[sqlite]", POINTS),
    ),
    Mutant(
        "a job of somebody else is adopted",
        "store/tree/links.py",
        "    if not child.created:",
        "    if False:",
        (f"{LINKS}::test_a_job_of_somebody_else_is_not_adopted[sqlite]",),
    ),
    Mutant(
        "SQLite: a child after the end of its parent's lease",
        f"{SQLITE}/links/hold.sql",
        "WHERE lease.expires_at > leasehold_now()",
        "WHERE true",
        (f"{LINKS}::test_s2_a_zombie_makes_no_child[sqlite]",),
    ),
    Mutant(
        "a task that was asked to stop makes a child",
        "store/tree/links.py",
        "if held.stopped else",
        "if False else",
        (f"{LINKS}::test_s10_a_task_that_was_asked_to_stop_makes_no_child[sqlite]",),
    ),
    Mutant(
        "PostgreSQL: a cancel does not wait for a child that is being made",
        f"{POSTGRES}/links/hold.sql",
        "    ORDER BY lease.task_id FOR NO KEY UPDATE OF lease\n",
        "    ORDER BY lease.task_id\n",
        (f"{LINKS}::test_s10_a_cancel_waits_for_a_child_that_is_being_made_and_takes_it_along",),
    ),
    Mutant(
        "SQLite: a cancel is not passed down",
        f"{SQLITE}/tasks/cancel.sql",
        "    SELECT link.job_id FROM tree JOIN main.link ON link.parent_job_id = tree.job_id\n",
        "    SELECT link.job_id FROM tree JOIN main.link ON link.parent_job_id = -tree.job_id\n",
        (f"{LINKS}::test_s10_a_cancel_reaches_the_whole_tree_and_names_itself_everywhere[sqlite]", POINTS),
    ),
    Mutant(
        "PostgreSQL: a cancel is not passed down",
        f"{POSTGRES}/tasks/cancel.sql",
        "WHERE link.parent_job_id = tree.job_id OFFSET 0",
        "WHERE link.parent_job_id = -tree.job_id OFFSET 0",
        (f"{LINKS}::test_s10_a_cancel_reaches_the_whole_tree_and_names_itself_everywhere[postgres]",),
    ),
    Mutant(
        "a cancel looks for what it missed in the job alone",
        f"{POSTGRES}/tasks/cancellable.sql",
        "WHERE link.parent_job_id = tree.job_id OFFSET 0",
        "WHERE link.parent_job_id = -tree.job_id OFFSET 0",
        (f"{LINKS}::test_s10_a_cancel_waits_for_a_child_that_is_being_made_and_takes_it_along",),
    ),
    Mutant(
        "a parent is pruned while its child runs",
        f"{SQLITE}/retention/find_prunable.sql",
        "WHERE link.root_id IN (SELECT id FROM page WHERE old)",
        "WHERE false",
        (f"{LINKS}::test_a_tree_is_pruned_as_a_whole_when_all_of_it_is_over[sqlite]",),
    ),
    Mutant(
        "verify does not add up what a tree has spent",
        "insight/verify/tree.py",
        "if one.spent != one.paid:",
        "if False:",
        (f"{VERIFY}::test_whatever_is_edited_in_a_tree_is_named",),
    ),
    Mutant(
        "a replay takes what was refused for paid",
        "runtime/replay/tree.py",
        "for event in self._refused:",
        "for event in ():",
        (f"{REPLAY}::test_what_was_refused_then_is_refused_now[sqlite]",),
    ),
)
