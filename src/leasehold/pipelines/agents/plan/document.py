"""Reads `plan.toml` and checks all of it, also what lies around it: folders, programs. Starts nothing."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Final

from msgspec import UNSET

from leasehold import canonical
from leasehold.errors import PayloadInvalid, PayloadTooLarge, did_you_mean, shown
from leasehold.pipelines.agents.limits import (
    ACTIVE_CHILDREN_MAX,
    CHILDREN_MAX,
    INPUT_BYTES_MAX,
    PLAN_BYTES_MAX,
    TIMEOUT_SECONDS_MAX,
    VARIABLES_MAX,
)
from leasehold.pipelines.agents.plan.fields import PlanTable, kind_of
from leasehold.pipelines.agents.plan.lines import NoLines, PlanLines
from leasehold.pipelines.agents.plan.refusals import (
    PlanCommandMissing,
    PlanCycle,
    PlanFieldMissing,
    PlanFieldUnknown,
    PlanFolderOutside,
    PlanInputInvalid,
    PlanInputTooLarge,
    PlanInvalid,
    PlanMissing,
    PlanNameTwice,
    PlanNameUnknown,
    PlanNotUtf8,
    PlanTooLarge,
    PlanValueInvalid,
)
from leasehold.pipelines.agents.plan.values import AgentPlan, ChildBudget, ChildPlan, SessionPlan

CONTRACTS: Final = ("locked", "open")
LANES: Final = ChildBudget.__struct_fields__
TABLES: Final = ("session", "child")
SESSION_FIELDS: Final = SessionPlan.__struct_fields__
CHILD_FIELDS: Final = tuple(name for name in ChildPlan.__struct_fields__ if name != "line")
_variable: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}\Z")


def read_plan(path: str | Path) -> AgentPlan:
    """Return the plan, or raise a `PlanInvalid` whose message names the line."""
    path = Path(path)
    text = _text(path)
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlanInvalid(f"{path}: {str(error)[:200]}.") from None
    try:
        return _plan(path, tables, PlanLines(text))
    except PlanInvalid as refusal:
        raise type(refusal)(f"{path}: {refusal.detail}") from None


def child_of_request(fields: Any, root: Path) -> ChildPlan:
    """Return a child that a request describes with the fields of a `[[child]]`; `after` is for plans only."""
    table = PlanTable(fields, (), NoLines())
    if table.has("after"):
        raise PlanFieldUnknown(f"{table.where('after')}: spawn a child when those before it have ended.")
    return _child(table, Path(os.path.realpath(root)))


def session_of_request(fields: Any) -> SessionPlan:
    """Return what a request declares of a session with the fields of `[session]`."""
    return _session(PlanTable(fields, (), NoLines()))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(PLAN_BYTES_MAX + 1)
    except OSError as error:
        raise PlanMissing(f"{path}: {error.strerror}.") from None
    if len(content) > PLAN_BYTES_MAX:
        raise PlanTooLarge(f"{path} has more than {PLAN_BYTES_MAX:,} bytes.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise PlanNotUtf8(f"{path}: Line {line}: byte {content[error.start]:#04x} is not UTF-8.") from None


def _plan(path: Path, tables: dict[str, Any], lines: PlanLines) -> AgentPlan:
    PlanTable(tables, (), lines).check_names(TABLES)
    children = tables.get("child", [])
    if not isinstance(children, list):
        raise PlanValueInvalid(f"Line {lines.of('child')}: 'child' is {kind_of(children)}; write [[child]] for each.")
    if not children:
        raise PlanFieldMissing("Line 1: at least one [[child]].")
    if len(children) > CHILDREN_MAX:
        raise PlanValueInvalid(f"Line {lines.of('child', CHILDREN_MAX)}: the limit is {CHILDREN_MAX:,} children.")
    root = Path(os.path.realpath(path.parent))
    session = _session(PlanTable(tables.get("session", {}), ("session",), lines))
    read = tuple(_child(PlanTable(fields, ("child", at), lines), root) for at, fields in enumerate(children))
    _check_names(read, lines)
    _check_order(read)
    return AgentPlan(path, session, read)


def _session(table: PlanTable) -> SessionPlan:
    table.check_names(SESSION_FIELDS)
    contract = table.value("contract", str, CONTRACTS[0])
    if contract not in CONTRACTS:
        raise PlanValueInvalid(
            f"{table.where('contract')}: 'contract' is {shown(contract)}; it is one of {', '.join(CONTRACTS)}."
            f"{did_you_mean(contract, CONTRACTS)}"
        )
    most = CHILDREN_MAX if contract == "open" else ACTIVE_CHILDREN_MAX
    active = table.value("max_active_children", int, ACTIVE_CHILDREN_MAX)
    if not 1 <= active <= most:
        more = "" if contract == "open" else ' More need contract = "open".'
        raise PlanValueInvalid(
            f"{table.where('max_active_children')}: 'max_active_children' is {shown(active)}, not 1 to {most:,}.{more}"
        )
    return SessionPlan(table.name("id"), contract, active, ChildBudget(**table.budget("budget", LANES)))


def _child(table: PlanTable, root: Path) -> ChildPlan:
    table.check_names(CHILD_FIELDS)
    for required in ("name", "command"):
        table.require(required)
    folder = _folder(table, root)
    return ChildPlan(
        name=table.name("name") or "",
        command=_command(table, folder),
        folder=folder,
        input=_input(table),
        after=table.texts("after"),
        timeout=table.seconds("timeout", TIMEOUT_SECONDS_MAX),
        worktree=table.value("worktree", bool, default=False),
        env=_variables(table),
        line=table.lines.of(*table.place),
    )


def _folder(table: PlanTable, root: Path) -> Path:
    named = table.value("folder", str, ".")
    # Links are followed first: a link inside the plan's folder may lead out of it.
    found = Path(os.path.realpath(root / named))
    if not found.is_relative_to(root) or not found.is_dir():
        why = "is outside it" if not found.is_relative_to(root) else "is not a folder"
        raise PlanFolderOutside(f"{table.where('folder')}: {shown(named)} {why}.")
    return found


def _command(table: PlanTable, folder: Path) -> tuple[str, ...]:
    command = table.command("command")
    program = command[0]
    if "/" in program:
        found = (folder / program).is_file() and os.access(folder / program, os.X_OK)
    else:
        found = shutil.which(program) is not None
    if not found:
        raise PlanCommandMissing(f"{table.where('command')}: {shown(program)} {_why_missing(program, folder)}.")
    return command


def _why_missing(program: str, folder: Path) -> str:
    if "/" in program:
        return f"is not an executable file, seen from {folder}"
    if (folder / program).is_file():
        return f"is not on PATH; a program in the child's folder is written './{program}'"
    return "is not on PATH"


def _input(table: PlanTable) -> Any:
    if not table.has("input"):
        return UNSET
    found = table.get("input")
    try:
        canonical.encode(found, limit=INPUT_BYTES_MAX)
    except PayloadTooLarge:
        raise PlanInputTooLarge(f"{table.where('input')}: the limit is {INPUT_BYTES_MAX:,} bytes.") from None
    except PayloadInvalid as error:
        raise PlanInputInvalid(f"{table.where('input')}: {error.detail}") from None
    return found


def _variables(table: PlanTable) -> tuple[str, ...]:
    names = table.texts("env")
    for name in names:
        if not _variable.match(name):
            raise PlanValueInvalid(
                f"{table.where('env')}: {shown(name)} is not the name of a variable; values come from the environment."
            )
    if len(names) > VARIABLES_MAX:
        raise PlanValueInvalid(f"{table.where('env')}: the limit is {VARIABLES_MAX} variables.")
    return names


def _check_names(children: Sequence[ChildPlan], lines: PlanLines) -> None:
    first: dict[str, ChildPlan] = {}
    for at, child in enumerate(children):
        if child.name in first:
            raise PlanNameTwice(
                f"Line {lines.of('child', at, 'name')}: {shown(child.name)}, first on line {first[child.name].line}."
            )
        first[child.name] = child
    for at, child in enumerate(children):
        for name in child.after:
            if name not in first:
                hint = did_you_mean(name, first)
                raise PlanNameUnknown(f"Line {lines.of('child', at, 'after')}: {shown(name)}.{hint}")


def _check_order(children: Sequence[ChildPlan]) -> None:
    try:
        TopologicalSorter({child.name: child.after for child in children}).prepare()
    except CycleError as error:
        # The sorter lists each before the one that waits for it.
        cycle = list(reversed(error.args[1]))
        line = next(child.line for child in children if child.name == cycle[0])
        raise PlanCycle(f"Line {line}: {' waits for '.join(cycle[:20])}.") from None
