"""Sessions as values, with a text of somebody else's in every field that can hold one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from leasehold.pipelines.agents.child_budget import BudgetLane, LaneTotal
from leasehold.pipelines.agents.coordinator.snapshot import ChildRow, SessionSnapshot
from leasehold.pipelines.agents.tokens import DispatchPhase
from leasehold.pipelines.agents.view.values import (
    ChildStatus,
    ChildTimes,
    ChildView,
    Debit,
    LaneUse,
    LaneView,
    SessionView,
    ShownFile,
)

NASTY = """<script>alert(1)</script><img src=x onerror='a'>"&amp;</pre></style> \x1b[2J\u202e[bold]b[/bold]\x07"""
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
ENDS = tuple(status for status in ChildStatus if status not in (ChildStatus.WAITING, ChildStatus.RUNNING))


def after(seconds):
    return BEGAN + timedelta(seconds=seconds)


def child(number, status=ChildStatus.PASSED, text="plain"):
    patch = f"diff --git a/{text} b/{text}\nnew file {text}\n@@ -1,1 +1,1 @@ {text}\n-{text}\n+{text}\n"
    return ChildView(
        child_id=f"s.{number}",
        name=f"{text} {number}",
        status=status,
        phase="terminal",
        queue_seq=number,
        dispatch_seq=number,
        times=ChildTimes(BEGAN, after(number), after(number), after(number + 2)),
        code="" if status is ChildStatus.PASSED else f"URM_{text}",
        reason=text,
        output={text: [text]},
        has_output=True,
        cancel_request_id=text,
        again_of=text,
        command=(text, text),
        use={"tokens": LaneUse(10, 5, 70), "solver_calls": LaneUse()},
        evidence=(ShownFile(text, text, 9_000, text, is_truncated=True, text=f"{text}\n{text}", omitted=500),),
        diff=ShownFile(text, text, 900, text, text=patch, omitted=100),
        last_line=text,
    )


def session(*children, text="plain"):
    debits = tuple(
        Debit(after(one.queue_seq), one.child_id, 5 + refused, 10, is_refused=refused)
        for one in children
        for refused in (False, True)
    )
    lanes = (LaneView("tokens", 12, 10, debits), LaneView(text, None, 3))
    return SessionView(f"s-{text}", text, 2, text, BEGAN, after(60), tuple(children), lanes)


def session_of_all_ends(text="plain"):
    return session(*(child(number, status, text) for number, status in enumerate(ENDS, start=1)), text=text)


def snapshot(*rows, waiting=()):
    lanes = {BudgetLane.TOKENS: LaneTotal(100, 40), BudgetLane.SOLVER_CALLS: LaneTotal(None, 3)}
    return SessionSnapshot("s", rows, lanes, waiting)


def rows(waiting=0, running=0, passed=0, failed=0, text="child"):
    phases = [DispatchPhase.TERMINAL] * (passed + failed) + [DispatchPhase.STARTED] * running
    phases += [DispatchPhase.QUEUED] * waiting
    made = [ChildRow(str(number), f"{text}-{number}", phase, number, 1, 2, text) for number, phase in enumerate(phases)]
    ended = [replace(row, code="URM_CHILD_FAILED", reason=text) for row in made[passed : passed + failed]]
    return (*made[:passed], *ended, *made[passed + failed :])
