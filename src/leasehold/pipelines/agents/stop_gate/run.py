"""What the steps of a fixture work on: a database made for it, its coordinators, and the files of its events."""

from __future__ import annotations

from typing import Final

import msgspec

from leasehold.pipelines.agents.event_files import EventFiles
from leasehold.pipelines.agents.place import AgentsPlace
from leasehold.pipelines.agents.plan.values import ChildBudget
from leasehold.pipelines.agents.runtime_state import DETERMINISTIC_TS, DeterministicIds, RuntimeState, Source
from leasehold.pipelines.agents.sessions import SessionTerms
from leasehold.pipelines.agents.stop_gate.accounts import FixtureAccounts
from leasehold.pipelines.agents.tokens import Token, find

# Of every event: a release of the package changes no fixture.
SOURCE: Final = Source(version="fixture")
EVENTS: Final = "events"


class FixtureSession(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The session's terms."""

    parent_session_id: str
    contract: str = "locked"
    max_active_children: int = 2
    accounting_mode: str = "running_total_v1"
    has_stream: bool = True
    budget: ChildBudget | None = None

    def terms(self) -> SessionTerms:
        return SessionTerms(
            self.parent_session_id, self.contract, self.max_active_children, self.accounting_mode, self.has_stream
        )


class FixtureRun:
    """The coordinators of one execution. The time is that of the step that is taken."""

    def __init__(self, session: FixtureSession, place: AgentsPlace) -> None:
        self.session = session
        self.records = place.records
        self.folder = place.home(session.parent_session_id) / EVENTS
        self.files = EventFiles(place.records, self.folder)
        self.accounts = FixtureAccounts(place, session.parent_session_id, session.budget)
        self.ts = DETERMINISTIC_TS
        self._states: dict[str, RuntimeState] = {}

    @property
    def session_id(self) -> str:
        return self.session.parent_session_id

    def state(self, coordinator: str) -> RuntimeState:
        """Return the state of a coordinator, which has recovered nothing at first."""
        if coordinator not in self._states:
            made = RuntimeState(self.records, coordinator, lambda: self.ts, DeterministicIds(), SOURCE)
            self._states[coordinator] = made
        return self._states[coordinator]

    def token(self, child_id: str) -> Token:
        return self.records.read(lambda transaction: find(transaction, child_id))
