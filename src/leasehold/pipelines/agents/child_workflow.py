"""One child from its lease to its terminal event: job, budget, work tree, process, evidence, result, end.

The end of the engine's job, the terminal phase and its event are one transaction. What was not ended because its
coordinator died is ended by the recovery, and its files stay as they are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from leasehold import Held, LeaseholdError, Overtaken, Permanent
from leasehold.canonical import encode
from leasehold.errors import PayloadTooLarge
from leasehold.pipelines.agents.child.files import write_durably
from leasehold.pipelines.agents.child.process import ChildCommand, ChildStarter, child_environment
from leasehold.pipelines.agents.child.protocol import input_line
from leasehold.pipelines.agents.child.redaction import clean, clean_value, redactor_for
from leasehold.pipelines.agents.child.run import ChildOutcome, ChildTask, ChildVerdict, allowed_values, run_child
from leasehold.pipelines.agents.child.stopping import StopReason, StopRequest
from leasehold.pipelines.agents.child.supervisor import ChildCallbacks
from leasehold.pipelines.agents.child.worktree import Repository, Worktree
from leasehold.pipelines.agents.child_budget import BudgetLane, ChildAccount, read_totals, snapshot_of
from leasehold.pipelines.agents.child_dispatch import CANCELLED, End, Failed, Passed, finish_child, start_child
from leasehold.pipelines.agents.coordinator.engine_jobs import SessionLease
from leasehold.pipelines.agents.errors import ChildCode
from leasehold.pipelines.agents.limits import MESSAGE_MAX, OUTPUT_BYTES_MAX, OUTPUT_STORED_MAX, PROGRESS_SECONDS
from leasehold.pipelines.agents.place import AgentsPlace
from leasehold.pipelines.agents.records.records import Transaction
from leasehold.pipelines.agents.runtime_state import RuntimeState
from leasehold.pipelines.agents.specs import ChildSpec, find_child
from leasehold.pipelines.agents.tokens import Token

RESULT: Final = "result.json"
DIFF: Final = "diff.patch"
STOPS: Final = {
    StopReason.TIMEOUT: ("timed_out", ChildCode.TIMED_OUT),
    StopReason.BUDGET: ("budget_exceeded", ChildCode.BUDGET_EXCEEDED),
    StopReason.PROTOCOL: ("protocol_invalid", "URM_CHILD_PROTOCOL_INVALID"),
    StopReason.CANCEL: ("stopped", ChildCode.STOPPED),
    StopReason.FAILURE: ("stopped", ChildCode.STOPPED),
}


@dataclass(frozen=True, slots=True)
class SessionRuntime:
    """What all children of a session share. It is passed in: no module holds state."""

    place: AgentsPlace
    state: RuntimeState
    lease: SessionLease
    starter: ChildStarter


@dataclass(slots=True)
class ActiveChild:
    """A child that this coordinator runs now: how to stop it, what it spends, its last line."""

    token: Token
    spec: ChildSpec
    held: Held
    account: ChildAccount
    stop: StopRequest = field(default_factory=StopRequest)
    line: str = ""
    next_second_at: float | None = None  # by the monotonic clock; None while its process does not run
    cancel_request_id: str | None = None
    reported_at: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def cancel(self, request_id: str) -> None:
        """Stop it because somebody asked for that, with a grace."""
        self.cancel_request_id = self.cancel_request_id or request_id
        self.stop.request(StopReason.CANCEL)

    def lose(self) -> None:
        """Kill it: its lease no longer stands, so nothing that it does from now on counts."""
        self.stop.request(StopReason.FAILURE)

    def pay_second(self) -> bool:
        """Pay for the second that begins now; if that is refused, the child is killed."""
        if self.account.debit(BudgetLane.DURATION_SECS, 1):
            return True
        self.next_second_at = None
        self.stop.request(StopReason.BUDGET)
        return False

    def report(self, text: str) -> None:
        """Show a line; now and then it is stored, for other processes."""
        self.line = text
        if time.monotonic() - self.reported_at >= PROGRESS_SECONDS:
            self.reported_at = time.monotonic()
            self.held.task.progress(self.account.spent[BudgetLane.TOKENS], message=text)


@dataclass(frozen=True, slots=True)
class ChildEnding:
    """How a child ended, as it is stored: the event's end, and the output of the engine's job."""

    end: End
    output: Mapping[str, Any]


def take_child(runtime: SessionRuntime, lease: Token) -> ActiveChild:
    """Prepare a leased child: its job is held, so that it can spend."""
    stored = runtime.state.records.read(lambda transaction: find_child(transaction, lease.child_id))
    held = runtime.lease.hold_child(lease.child_id, stored.name)
    return ActiveChild(lease, stored.spec, held, ChildAccount(held), cancel_request_id=lease.cancel_request_id)


def _run_child_workflow_v2(runtime: SessionRuntime, child: ActiveChild, on_start: Callable[[], None]) -> Token:
    """Run a leased child to its terminal event. Raises only what ends the coordinator: its lease is lost."""
    try:
        ending = _run(runtime, child, on_start)
    except Overtaken:
        raise
    except (LeaseholdError, OSError) as error:
        ending = _broken(child, error)
    # crash here: ended but not recorded
    return _finish(runtime, child, ending)


run_child_workflow = _run_child_workflow_v2


def _run(runtime: SessionRuntime, child: ActiveChild, on_start: Callable[[], None]) -> ChildEnding:
    """Start the child, unless it was stopped or cannot pay; return how it ended."""
    if child.stop.reason is not None or child.cancel_request_id is not None:
        return _stopped(child, child.stop.reason or StopReason.CANCEL)
    if not child.pay_second():
        return _stopped(child, StopReason.BUDGET)
    worktree = _make_worktree(runtime, child)
    task = _task(runtime, child, worktree)
    _start(runtime, child)
    # crash here: started but its process is not
    child.next_second_at = time.monotonic() + 1.0
    on_start()
    try:
        outcome = run_child(runtime.starter, task, _callbacks(child), child.stop)
    finally:
        child.next_second_at = None
    return _conclude(child, outcome, worktree)


def _make_worktree(runtime: SessionRuntime, child: ActiveChild) -> Worktree | None:
    if not child.spec.worktree:
        return None
    folder = runtime.place.worktrees(child.token.parent_session_id) / child.token.child_id
    return Repository.of(Path(child.spec.folder)).add(folder)


def _task(runtime: SessionRuntime, child: ActiveChild, worktree: Worktree | None) -> ChildTask:
    spec, folder = child.spec, Path(child.spec.folder)
    inside = folder if worktree is None else worktree.inside(folder)
    command = ChildCommand(spec.command, inside, child_environment(spec.env))
    home = runtime.place.child_home(child.token.parent_session_id, child.token.child_id)
    return ChildTask(command, home, _first_line(runtime, child) if spec.has_input else None, spec.timeout)


def _first_line(runtime: SessionRuntime, child: ActiveChild) -> bytes:
    totals = read_totals(runtime.state.records, child.token.parent_session_id)
    return input_line(child.token.child_id, child.spec.input, snapshot_of(totals))


def _start(runtime: SessionRuntime, child: ActiveChild) -> None:
    """Mark it as started before its process is: one that ran is never taken for one that did not."""

    def assign(transaction: Transaction) -> None:
        transaction.run("child/assign", child_id=child.token.child_id, job_id=child.held.job_id)

    child.token = start_child(runtime.state, child.token, assign)


def _callbacks(child: ActiveChild) -> ChildCallbacks:
    def on_solver_call(_: str) -> bool:
        if child.account.debit(BudgetLane.SOLVER_CALLS, 1):
            return True
        child.stop.request(StopReason.BUDGET)
        return False

    return ChildCallbacks(
        on_usage=lambda tokens: child.account.debit(BudgetLane.TOKENS, tokens),
        on_solver_call=on_solver_call,
        on_progress=child.report,
    )


def _conclude(child: ActiveChild, outcome: ChildOutcome, worktree: Worktree | None) -> ChildEnding:
    """Keep what a child made, and decide how it ended."""
    evidence = outcome.evidence
    detail: dict[str, Any] = {"name": child.spec.name, "verdict": outcome.verdict.value}
    detail |= {"stdout_sha256": evidence.stdout.sha256, "stderr_sha256": evidence.stderr.sha256}
    if outcome.end.code is not None and outcome.end.code >= 0:
        detail["exit_code"] = outcome.end.code
    if evidence.is_truncated:
        detail["is_truncated"] = True
    output = _keep_output(evidence.folder / RESULT, child.spec, outcome)
    detail["output_sha256"] = output.pop("sha256")
    if worktree is not None:
        diff = worktree.collect(evidence.folder / DIFF)
        detail |= {"diff_sha256": diff.sha256, "diff_bytes": diff.bytes}
        worktree.remove()
    if outcome.verdict is ChildVerdict.PASSED:
        return ChildEnding(Passed(detail), {**detail, **output})
    if outcome.end.stopped is not None:
        return _stopped(child, outcome.end.stopped, {**detail, "message": outcome.reason[:MESSAGE_MAX]}, output)
    reason = "exit_code" if outcome.end.code else "failed"
    failed = Failed(reason, ChildCode.FAILED, {**detail, "message": outcome.reason[:MESSAGE_MAX]})
    return ChildEnding(failed, {**detail, **output})


def _keep_output(path: Path, spec: ChildSpec, outcome: ChildOutcome) -> dict[str, Any]:
    """Write the result to its file, without secrets; return it with its sha256, or without itself if it is long."""
    redactor = redactor_for(allowed_values(child_environment(spec.env)))
    output = clean_value(redactor, outcome.output)
    try:
        text = encode(output, limit=4 * OUTPUT_BYTES_MAX)
    except PayloadTooLarge:  # placeholders made it longer
        output, text = None, "null"
    digest = write_durably(path, [text.encode()])
    return {"sha256": digest} | ({"output": output} if len(text.encode()) <= OUTPUT_STORED_MAX else {})


def _stopped(
    child: ActiveChild,
    stopped: StopReason,
    detail: Mapping[str, Any] | None = None,
    output: Mapping[str, Any] | None = None,
) -> ChildEnding:
    """Return the end of a child that was ended from outside: a cancel is named, whatever else came after it."""
    found = dict(detail or {"name": child.spec.name, "verdict": ChildVerdict.STOPPED.value})
    reason, code = STOPS[stopped]
    if stopped is StopReason.CANCEL and child.cancel_request_id is not None:
        reason, code = CANCELLED, ChildCode.CANCELLED
    if child.account.refused is not None and stopped is StopReason.BUDGET:
        found["refused"] = child.account.refused.plain()
    return ChildEnding(Failed(reason, code, found), {**found, **(output or {})})


def _broken(child: ActiveChild, error: LeaseholdError | OSError) -> ChildEnding:
    """Return the end of a child that could not be run, or not to its end."""
    named = error.code if isinstance(error, LeaseholdError) else ""
    code = named if named.startswith("URM_") else ChildCode.FAILED
    message = clean(redactor_for(), str(error))[:MESSAGE_MAX]
    detail = {"name": child.spec.name, "verdict": ChildVerdict.FAILED.value, "message": message}
    return ChildEnding(Failed("not_run", code, detail), detail)


def _finish(runtime: SessionRuntime, child: ActiveChild, ending: ChildEnding) -> Token:
    """End the engine's job and the child in one transaction."""

    def settle(transaction: Transaction, token: Token) -> None:
        with runtime.place.app.transaction(transaction.connection):
            if isinstance(ending.end, Failed) and token.cancel_request_id is None:
                child.held.fail(Permanent(ending.end.reason, error_class=ending.end.code))
                return
            if isinstance(ending.end, Failed):
                runtime.place.app.cancel(child.held.job_id, reason=CANCELLED, request=token.cancel_request_id)
            child.held.done(dict(ending.output))

    return finish_child(runtime.state, child.token, ending.end, settle)
