"""Bodies of requests, read field by field with the rules and the codes of a plan; fields that it does not have too."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from leasehold.errors import shown
from leasehold.pipelines.agents.coordinator.session import SessionRequest
from leasehold.pipelines.agents.plan.document import child_of_request, session_of_request
from leasehold.pipelines.agents.plan.refusals import PlanFieldMissing, PlanFieldUnknown, PlanFolderOutside
from leasehold.pipelines.agents.plan.values import ChildPlan
from leasehold.pipelines.agents.runtime_state import sha256_of
from leasehold.pipelines.agents.sessions import SessionTerms, check_id
from leasehold.pipelines.agents.specs import ChildSpec

REQUEST_ID: Final = "client_request_id"
SESSION_ID: Final = "parent_session_id"
CHILD_ID: Final = "child_id"
AGAIN_OF: Final = "again_of"


@dataclass(frozen=True, slots=True)
class SpawnRequest:
    """A child for a session. Without a `child_id` one is made. `again_of`: the lost child that it repeats."""

    parent_session_id: str
    client_request_id: str
    child: ChildSpec
    child_id: str | None
    again_of: str | None


@dataclass(frozen=True, slots=True)
class StopSessionRequest:
    parent_session_id: str
    client_request_id: str


def start_request(body: dict[str, Any]) -> SessionRequest:
    """Read a start. A session without a name gets one that its request determines, so that a repeat names the same."""
    request_id = _taken(body, REQUEST_ID)
    session_id = _taken(body, SESSION_ID, sha256_of({REQUEST_ID: request_id})[:32])
    plan = session_of_request(body)
    terms = SessionTerms(session_id, plan.contract, plan.max_active_children)
    return SessionRequest(terms, plan.budget, request_id)


def stop_request(body: dict[str, Any]) -> StopSessionRequest:
    wanted = StopSessionRequest(_taken(body, SESSION_ID), _taken(body, REQUEST_ID))
    _check_empty(body)
    return wanted


def spawn_request(body: dict[str, Any], root: Path) -> SpawnRequest:
    """Read a spawn; the child's folder is in `root`, and so is its program, unless that is found on PATH."""
    session_id, request_id = _taken(body, SESSION_ID), _taken(body, REQUEST_ID)
    child_id = _taken(body, CHILD_ID) if CHILD_ID in body else None
    again_of = _taken(body, AGAIN_OF) if AGAIN_OF in body else None
    child = child_of_request(body, root)
    _check_program(child, root)
    return SpawnRequest(session_id, request_id, ChildSpec.of_plan(child), child_id, again_of)


def _check_program(child: ChildPlan, root: Path) -> None:
    """Refuse a program that is named by a path which leads out of the folder; links inside may lead anywhere."""
    program = child.command[0]
    if "/" in program and not Path(os.path.realpath((child.folder / program).parent)).is_relative_to(root):
        raise PlanFolderOutside(f"Field 'command': {shown(program)} is outside it; programs on PATH need no path.")


def cancel_request(body: dict[str, Any]) -> str:
    request_id = _taken(body, REQUEST_ID)
    _check_empty(body)
    return request_id


def _taken(body: dict[str, Any], name: str, default: str | None = None) -> str:
    """Take a name out of the body, so that what is left belongs to the plan."""
    if name not in body and default is None:
        raise PlanFieldMissing(f"'{name}'.")
    return check_id(body.pop(name, default), name)


def _check_empty(body: dict[str, Any]) -> None:
    for name in body:
        raise PlanFieldUnknown(f"{shown(name)}.")
