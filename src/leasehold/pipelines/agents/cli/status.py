"""`leasehold agents status` and `verify`: what is on record of sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from leasehold import Status
from leasehold.pipelines.agents.cli.options import lanes_line, place_options
from leasehold.pipelines.agents.coordinator.engine_jobs import find_session_job
from leasehold.pipelines.agents.coordinator.snapshot import SessionSnapshot, read_snapshot
from leasehold.pipelines.agents.events import present
from leasehold.pipelines.agents.place import AgentsPlace, open_place
from leasehold.pipelines.agents.records.records import Transaction
from leasehold.pipelines.agents.sessions import ParentSession, read_session
from leasehold.pipelines.agents.verify import verify as verify_records
from leasehold.pipelines.agents.view.board_lines import line_of
from leasehold.pipelines.agents.view.board_rows import counts_of
from leasehold.pipelines.shell.options import help_with_examples, json_option
from leasehold.pipelines.shell.text import count, counts_text


@click.command(
    help=help_with_examples(
        "List sessions; with SESSION, its children and what was spent.",
        ["leasehold agents status", "leasehold agents status demo --json"],
    )
)
@click.argument("session_id", metavar="[SESSION]", required=False)
@place_options
@json_option
def status(session_id: str | None, folder: Path, url: str, *, as_json: bool) -> None:
    with open_place(folder, url, is_new=False) as place:
        names = [session_id] if session_id else [session.parent_session_id for session in _sessions(place)]
        for name in names:
            session = place.records.read(lambda transaction: read_session(transaction, name))  # noqa: B023
            snapshot = read_snapshot(place, name)
            if as_json:
                click.echo(json.dumps(_plain(session, snapshot)))
            else:
                _show(_state(place, session), snapshot, is_whole=session_id is not None)


def _sessions(place: AgentsPlace) -> list[ParentSession]:
    def work(transaction: Transaction) -> list[ParentSession]:
        return [ParentSession(*row) for row in transaction.pages("session/page", 0, "")]

    return place.records.read(work)


def _state(place: AgentsPlace, session: ParentSession) -> str:
    if session.coordinator is not None:
        return "coordinated"
    job = find_session_job(place.app, session.parent_session_id)
    return "ended" if job is not None and job.status is Status.DONE else "without a coordinator"


def _show(state: str, snapshot: SessionSnapshot, *, is_whole: bool) -> None:
    counts = {status.value: number for status, number in counts_of(snapshot).items()}
    click.echo(f"{snapshot.parent_session_id}  {state}: {counts_text(counts, 'no children')}")
    if is_whole:
        for row in snapshot.rows:
            click.echo(f"  {line_of(row)}  [{row.child_id}]")
        click.echo(f"  {lanes_line(snapshot)}")


def _plain(session: ParentSession, snapshot: SessionSnapshot) -> dict[str, Any]:
    named = {"parent_session_id": session.parent_session_id, "is_coordinated": session.coordinator is not None}
    children = [
        {name: value for name in row.__slots__ if (value := getattr(row, name)) not in (None, "")}
        for row in snapshot.rows
    ]
    lanes = {
        lane.value: present(spent=total.spent, limit=total.limit, left=total.left)
        for lane, total in snapshot.lanes.items()
    }
    return {**named, "children": children, "budget": lanes}


@click.command(
    help=help_with_examples(
        "Check that phases, events and order are what dispatch and recovery write.\n\nThe exit code is 5 if not.",
        ["leasehold agents verify", "leasehold agents verify demo"],
    )
)
@click.argument("session_id", metavar="[SESSION]", required=False)
@place_options
def verify(session_id: str | None, folder: Path, url: str) -> None:
    with open_place(folder, url, is_new=False) as place:
        found = verify_records(place.records, session_id)
    click.echo(f"{count(found, 'dispatch token')} and all their events are sound.")
