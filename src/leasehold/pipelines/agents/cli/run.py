"""`leasehold agents run`: run a plan in a session, and go on where an earlier run ended."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from leasehold.pipelines.agents.cli.options import lanes_line
from leasehold.pipelines.agents.coordinator.plan_run import PlanProgress, PlanRun, check_repositories
from leasehold.pipelines.agents.coordinator.session import AgentSession, SessionRequest, start_session
from leasehold.pipelines.agents.coordinator.snapshot import SessionSnapshot, read_snapshot
from leasehold.pipelines.agents.errors import SessionEnded
from leasehold.pipelines.agents.place import AgentsPlace, open_place
from leasehold.pipelines.agents.plan import AgentPlan, read_plan
from leasehold.pipelines.agents.sessions import SessionTerms
from leasehold.pipelines.agents.view.board_lines import line_of, make_lines
from leasehold.pipelines.agents.view.board_rows import status_of
from leasehold.pipelines.agents.view.report import write_report
from leasehold.pipelines.agents.view.words import headline
from leasehold.pipelines.shell.options import SIGNALLED, help_with_examples, url_option
from leasehold.pipelines.shell.run_loop import live_display
from leasehold.processes import Stop, stop_on_signals

if TYPE_CHECKING:
    from leasehold.pipelines.agents.view.board import Board

FAILED: Final = 1


@click.command(
    help=help_with_examples(
        "Run the children of PLAN and wait for them.\n\nCtrl-C stops what runs, with 2 seconds of grace. The same"
        " command goes on: children that have ended are not run again, lost ones only with --again. Exit codes: 0 every"
        " child passed; 1 a child failed or was lost; 2 the plan was refused, nothing was started; 4 another process"
        " runs this session; 130 or 143 stopped.",
        ["leasehold agents run plan.toml", "leasehold agents run plan.toml --session demo-2 --url postgresql://…"],
    )
)
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("--session", "session_id", metavar="ID", help="The session; default: the plan's id, else a new one.")
@click.option("--again", is_flag=True, help="Run the children once more that a crash or a stop has ended.")
@url_option
@click.pass_context
def run(context: click.Context, /, plan: Path, session_id: str | None, url: str, *, again: bool) -> None:
    found = read_plan(plan)
    check_repositories(found)
    name = session_id or found.session.id or f"session-{uuid.uuid4().hex[:12]}"
    with stop_on_signals() as stop, open_place(found.path.parent, url) as place:
        try:
            with start_session(place, _request(found, name)) as session:
                code = _run(session, found, stop, again=again, plan=plan)
        except SessionEnded:
            click.echo(f"Session {name} has ended; nothing to do.")
            code = 0
        snapshot = read_snapshot(place, name)
        _print_end(place, snapshot)
    failed = any(row.code for row in snapshot.final_rows)
    context.exit(code or (FAILED if failed else 0))


def _request(plan: AgentPlan, session_id: str) -> SessionRequest:
    terms = SessionTerms(session_id, plan.session.contract, plan.session.max_active_children)
    return SessionRequest(terms, plan.session.budget)


def _run(session: AgentSession, found: AgentPlan, stop: Stop, *, again: bool, plan: Path) -> int:
    """Run the plan; return the exit code that this run itself decides, 0 if the children decide."""
    click.echo(f"session {session.parent_session_id}")
    command = f"leasehold agents run {plan} --session {session.parent_session_id}"
    plan_run = PlanRun(session, found)
    if again:
        for name in plan_run.spawn_lost():
            click.echo(f"{name}  spawned again")
    elif lost := plan_run.read().lost:
        click.echo(f"{len(lost):,} lost: {', '.join(lost)}. Nothing was started.")
        click.echo(f"Run them again, and what waits for them, with: {command} --again")
        session.leave(is_complete=False)
        return FAILED
    with live_display(_make_board, make_lines) as show:
        progress = plan_run.run(stop, show)
    if stop.number is None:
        session.leave()
        return 0
    return _stop(session, progress, stop, command)


def _stop(session: AgentSession, progress: PlanProgress, stop: Stop, command: str) -> int:
    click.echo("Stopping: what runs has 2 seconds to end; a second signal ends it at once.", err=True)
    session.stop(is_complete=not (progress.waiting or progress.open), is_urgent=lambda: stop.times > 1)
    click.echo(f"Stopped. Go on with: {command} --again")
    return SIGNALLED + (stop.number or 0)


def _make_board() -> Callable[[SessionSnapshot], Board]:
    from leasehold.pipelines.agents.view.board import make_board

    return make_board()


def _print_end(place: AgentsPlace, snapshot: SessionSnapshot) -> None:
    rows = snapshot.final_rows
    click.echo("")
    for row in rows:
        click.echo(line_of(row))
    click.echo(headline(Counter(map(status_of, rows)))[0])
    click.echo(lanes_line(snapshot))
    click.echo(f"report: {write_report(place, snapshot.parent_session_id)}")
