"""Mutants of sessions of agents: of their coordinators, budgets, cancels, plans, and what is left when one dies."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

AGENTS = "pipelines/agents"
TESTS = "tests/pipelines/agents/coordinator"
LIMIT = f"{TESTS}/test_budgets.py::test_the_first_debit_beyond_a_limit_ends_its_child_in_every_lane_and_is_on_record"
PLAN = f"{TESTS}/test_plans.py::test_a_plan_is_run_in_order_and_every_end_is_on_record"
SECOND = f"{TESTS}/test_sessions.py::test_a_second_coordinator_never_touches_the_children_of_a_living_one"
GONE = f"{TESTS}/test_sessions.py::test_a_session_whose_coordinator_is_gone_accepts_no_spawn_before_its_recovery"
ACCOUNTING = "test_accounting_of_another_kind_or_another_budget_is_refused_before_anything_is_held"
CANCEL = f"{TESTS}/test_sessions.py::test_a_cancel_in_the_engine_reaches_the_child_and_ends_its_job_as_cancelled"
CTRL_C = f"{TESTS}/test_commands.py::test_ctrl_c_leaves_a_session_that_the_next_run_explains_and_again_continues"

MUTANTS: Final = (
    Mutant(
        "tokens that were refused are taken for accepted",
        f"{AGENTS}/child_budget.py",
        "            return False\n        # crash",
        "            return True\n        # crash",
        (LIMIT,),
    ),
    Mutant(
        "a child whose call was refused goes on",
        f"{AGENTS}/child_workflow.py",
        "        child.stop.request(StopReason.BUDGET)\n        return False\n\n    return ChildCallbacks",
        "        return False\n\n    return ChildCallbacks",
        (LIMIT,),
    ),
    Mutant(
        "only the first second is paid",
        f"{AGENTS}/coordinator/watch.py",
        "due + 1.0 if is_paid and child.next_second_at is not None else None",
        "None",
        (f"{TESTS}/test_budgets.py::test_each_second_of_a_child_is_paid_while_it_runs",),
    ),
    Mutant(
        "the end of a budget does not name the debit that was refused",
        f"{AGENTS}/child_workflow.py",
        'found["refused"] = child.account.refused.plain()',
        "pass",
        (LIMIT,),
    ),
    Mutant(
        "a session is opened again with any budget",
        f"{AGENTS}/child_budget.py",
        "if limits != limits_of(budget):",
        "if False:",
        (f"{TESTS}/test_sessions.py::{ACCOUNTING}",),
    ),
    Mutant(
        "a session with other lanes is mixed with running totals",
        f"{AGENTS}/child_budget.py",
        "if set(stored) != {lane.value for lane in BudgetLane}:",
        "if False:",
        (f"{TESTS}/test_sessions.py::{ACCOUNTING}",),
    ),
    Mutant(
        "a living coordinator is taken for gone",
        f"{AGENTS}/coordinator/engine_jobs.py",
        "return app.manual.fence(int(job_id)) != int(fence)",
        "return True",
        (SECOND,),
    ),
    Mutant(
        "a session whose coordinator is gone accepts spawns",
        f"{AGENTS}/coordinator/session.py",
        "if session.coordinator is not None and is_gone(session.coordinator):",
        "if False:",
        (GONE,),
    ),
    Mutant(
        "a dead coordinator keeps its leases until they expire",
        "app/manual.py",
        "Sweeper(store, EventLog()).sweep_gone(found.neighbours)",
        "assert found",
        ("tests/app/test_manual.py::test_l1_a_lease_of_a_process_is_reclaimed_at_once_when_that_process_is_gone",),
    ),
    Mutant(
        "a cancel in the engine does not reach the child",
        f"{AGENTS}/coordinator/coordinator.py",
        "if child.held.task.cancelled]",
        "if False]",
        (CANCEL,),
    ),
    Mutant(
        "the job of a cancelled child ends as done",
        f"{AGENTS}/child_workflow.py",
        "runtime.place.app.cancel(child.held.job_id, reason=CANCELLED, request=token.cancel_request_id)",
        "pass",
        (f"{TESTS}/test_sessions.py::test_the_job_of_a_cancelled_child_names_the_request",),
    ),
    Mutant(
        "a session with lost children is over",
        f"{AGENTS}/coordinator/session.py",
        "is_over = is_complete and not any(state.code in LOST for state in final(states))",
        "is_over = is_complete or bool(states)",
        (CTRL_C,),
    ),
    Mutant(
        "a child that is spawned again does not name the lost one",
        f"{AGENTS}/coordinator/plan_run.py",
        "self._spawn_ready(child, self._states[child.name].child_id)",
        "self._spawn_ready(child, None)",
        (CTRL_C,),
    ),
    Mutant(
        "a child is run although its prerequisite failed",
        f"{AGENTS}/coordinator/plan_run.py",
        "if not self._states[name].has_passed]",
        "if False]",
        (PLAN,),
    ),
    Mutant(
        "the job that a dead coordinator had made and not held stays ready",
        f"{AGENTS}/coordinator/session.py",
        "        lease.cancel_leftovers()\n",
        "",
        (f"{TESTS}/test_kills.py::test_when_the_job_of_a_child_was_made_but_not_held_it_is_cancelled",),
    ),
)
