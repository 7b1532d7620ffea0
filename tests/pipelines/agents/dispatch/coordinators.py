"""Coordinators for tests: their state, sessions that they open, and children that they bring to a phase."""

from typing import Any

from leasehold.pipelines.agents.child_dispatch import (
    Passed,
    Spawn,
    cancel_child,
    finish_child,
    lease_child,
    spawn_child,
    start_child,
)
from leasehold.pipelines.agents.event_files import lines_of
from leasehold.pipelines.agents.records.records import AgentRecords
from leasehold.pipelines.agents.runtime_state import DeterministicIds, RuntimeState, Source, fixed_time
from leasehold.pipelines.agents.sessions import SessionTerms, open_session
from leasehold.pipelines.agents.tokens import Token, export_tokens
from tests.support.db import connected

SESSION = "demo"
TS = "2026-01-02T03:04:05.000006Z"


def deterministic(records: AgentRecords, coordinator: str = "first", ts: str = TS) -> RuntimeState:
    source = Source(version="1")
    state = RuntimeState(records, coordinator, fixed_time(ts), DeterministicIds(), source)
    state.recovered.set()
    return state


def opened(state: RuntimeState, session: str = SESSION, cap: int = 2) -> RuntimeState:
    open_session(state, SessionTerms(session, "locked" if cap <= 2 else "open", cap))
    return state


def spawn(state: RuntimeState, *names: str, session: str = SESSION) -> list[str]:
    """Spawn children of these names, each by a request of its own."""
    return [spawn_child(state, Spawn(session, f"spawn-{name}", name))["child_id"] for name in names]


def lease(state: RuntimeState, session: str = SESSION) -> Token:
    found = lease_child(state, session)
    assert found is not None
    return found


def run_all(state: RuntimeState, session: str = SESSION) -> list[Token]:
    """Run the children that wait one after the other; return their tokens in the order of the leases."""
    done = []
    while (leased := lease_child(state, session)) is not None:
        done.append(finish_child(state, start_child(state, leased), Passed()))
    return done


def mixed_session(state: RuntimeState) -> None:
    """Leave children in every phase: a passed, b started, c leased and cancelled, d and e queued, f cancelled."""
    opened(state, cap=3)
    spawn(state, "a", "b", "c", "d", "e", "f")
    finish_child(state, start_child(state, lease(state)), Passed())
    start_child(state, lease(state))
    lease(state)
    cancel_child(state, "c", "cancel-c")
    cancel_child(state, "f", "cancel-f")


def transcript(records: AgentRecords, session: str = SESSION) -> str:
    """Return all that is stored of a session, as text: its tokens, then its streams."""
    tokens = export_tokens(records, session)
    return tokens + "".join(f"{line}\n" for line in lines_of(records, session))


def edit(url: str, *statements: str) -> None:
    """Change tables without their triggers, as no program of ours does."""
    with connected(url) as connection:
        for statement in (*_without_triggers(url, connection), *statements):
            connection.execute(statement)


def _without_triggers(url: str, connection: Any) -> list[str]:
    if not url.startswith("sqlite"):
        return ["SET search_path = leasehold_agents", "SET session_replication_role = replica"]
    found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'urm_%'")
    return [f"DROP TRIGGER {name}" for (name,) in found.fetchall()]
