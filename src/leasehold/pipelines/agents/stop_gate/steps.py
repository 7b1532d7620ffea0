"""The steps of a fixture: each is one call of dispatch or recovery by one coordinator, at a time that it names."""

from typing import Any, Final

import msgspec

from leasehold.pipelines.agents import child_dispatch
from leasehold.pipelines.agents.child_budget import BudgetLane, read_totals
from leasehold.pipelines.agents.child_dispatch import Failed, Passed, Spawn
from leasehold.pipelines.agents.child_recovery import recover
from leasehold.pipelines.agents.records.records import Transaction
from leasehold.pipelines.agents.runtime_state import DETERMINISTIC_TS, RuntimeState
from leasehold.pipelines.agents.sessions import close_session, open_session
from leasehold.pipelines.agents.specs import ChildSpec, store_spec
from leasehold.pipelines.agents.stop_gate.run import FixtureRun
from leasehold.pipelines.agents.tokens import Token

COMMAND: Final = ("true",)
FOLDER: Final = "/"


class FixtureStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="step"):
    """What one coordinator does at one time."""

    coordinator: str = "first"
    ts: str = DETERMINISTIC_TS

    def take(self, run: FixtureRun, state: RuntimeState) -> Any:
        """Take the step; return its answer as JSON-able fields."""
        raise NotImplementedError


class RecoverStep(FixtureStep, frozen=True, tag="recover"):
    """End the children of coordinators that are gone. A coordinator begins with this, even if none is."""

    gone: list[str] = []

    def take(self, run: FixtureRun, state: RuntimeState) -> Any:
        for coordinator in self.gone:
            run.accounts.leave(coordinator)
        ended = recover(state, self.gone.__contains__)
        return [{"child_id": child.token.child_id, "code": child.failed.code} for child in ended]


class OpenStep(FixtureStep, frozen=True, tag="open"):
    def take(self, run: FixtureRun, state: RuntimeState) -> Any:
        opened = open_session(state, run.session.terms())
        return {"queue_seq": opened.queue_seq, "dispatch_seq": opened.dispatch_seq}


class CloseStep(FixtureStep, frozen=True, tag="close"):
    def take(self, run: FixtureRun, state: RuntimeState) -> Any:
        close_session(state, run.session_id)
        return {"status": "closed"}


class SpawnStep(FixtureStep, frozen=True, tag="spawn"):
    """Spawn a child. Without a name it has one that is derived from its place in the queue."""

    request: str
    child: str | None = None
    again_of: str | None = None
    body: dict[str, Any] = {}

    def take(self, run: FixtureRun, state: RuntimeState) -> Any:
        spawn = Spawn(run.session_id, self.request, self.child, self.body, self.again_of)
        spec = ChildSpec(self.request, COMMAND, FOLDER)

        def join(transaction: Transaction, token: Token) -> None:
            store_spec(transaction, token, spec, self.again_of)

        return child_dispatch.spawn_child(state, spawn, join)


class LeaseStep(FixtureStep, frozen=True, tag="lease"):
    def take(self, run: FixtureRun, state: RuntimeState) -> Any:
        leased = child_dispatch.lease_child(state, run.session_id)
        return {"status": "none"} if leased is None else leased.plain()


class StartStep(FixtureStep, frozen=True, tag="start"):
    child: str

    def take(self, run: FixtureRun, state: RuntimeState) -> Any:
        assign = run.accounts.begin(self.coordinator, self.child)
        return child_dispatch.start_child(state, run.token(self.child), assign).plain()


class FinishStep(FixtureStep, frozen=True, tag="finish"):
    """End a child; without a code, it passed."""

    child: str
    code: str = ""
    reason: str = ""
    detail: dict[str, Any] = {}

    def take(self, run: FixtureRun, state: RuntimeState) -> Any:
        detail = {**self.detail, **run.accounts.refused(self.child)}
        end = Failed(self.reason, self.code, detail) if self.code else Passed(self.detail)
        ended = child_dispatch.finish_child(state, run.token(self.child), end)
        run.accounts.end(self.child)
        return ended.plain()


class DebitStep(FixtureStep, frozen=True, tag="debit"):
    """Spend something for a child that has started."""

    child: str
    lane: BudgetLane
    amount: int

    def take(self, run: FixtureRun, state: RuntimeState) -> Any:  # noqa: ARG002
        granted = run.accounts.debit(self.child, self.lane, self.amount)
        total = read_totals(run.records, run.session_id)[self.lane]
        return {"granted": granted, "spent_total": total.spent}


class FailQueuedStep(FixtureStep, frozen=True, tag="fail_queued"):
    child: str
    code: str
    reason: str

    def take(self, run: FixtureRun, state: RuntimeState) -> Any:  # noqa: ARG002
        return child_dispatch.fail_queued_child(state, self.child, Failed(self.reason, self.code)).plain()


class CancelStep(FixtureStep, frozen=True, tag="cancel"):
    child: str
    request: str

    def take(self, run: FixtureRun, state: RuntimeState) -> Any:  # noqa: ARG002
        return child_dispatch.cancel_child(state, self.child, self.request)


class ProjectStep(FixtureStep, frozen=True, tag="project"):
    """Bring the files of events up to date."""

    def take(self, run: FixtureRun, state: RuntimeState) -> Any:  # noqa: ARG002
        return {"lines": run.files.project_session(run.session_id)}


class TearStep(FixtureStep, frozen=True, tag="tear"):
    """Leave the beginning of a line at the end of a stream's file, as a kill does."""

    stream: str
    text: str

    def take(self, run: FixtureRun, state: RuntimeState) -> Any:  # noqa: ARG002
        with run.files.path(self.stream).open("ab") as file:
            file.write(self.text.encode())
        return {"bytes": len(self.text.encode())}


AnyStep = (
    RecoverStep | OpenStep | CloseStep | SpawnStep | LeaseStep | StartStep | FinishStep | DebitStep | FailQueuedStep
    | CancelStep | ProjectStep | TearStep
)  # fmt: skip
