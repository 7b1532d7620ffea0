"""`leasehold agents events validate`, `replay` and `summary`: reports on events in the database or in a folder.

Reading needs the extra `leasehold[agents]`, for the published schema of events.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leasehold.canonical import encode
from leasehold.pipelines.agents.cli.options import place_options
from leasehold.pipelines.agents.place import open_place
from leasehold.pipelines.shell.options import help_with_examples, json_option
from leasehold.pipelines.shell.text import count, counts_text, printable

if TYPE_CHECKING:
    from leasehold.pipelines.agents.event_reports.report import EventReport

session_argument = click.argument("session_id", metavar="[SESSION]", required=False)
files_option = click.option(
    "--files",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Read copilot/, urm_audit/ and child/ of this folder instead of the database.",
)


@click.command(
    help=help_with_examples(
        "Check the events of SESSION: schema, numbers, the order of each child's life, and that both streams have it."
        "\n\nExit codes: 0 all is sound, 1 something is wrong, which is listed with file and line, 2 wrong input.",
        [
            "leasehold agents events validate demo",
            "leasehold agents events validate --files .leasehold/agents/demo/events --json",
        ],
    )
)
@session_argument
@files_option
@place_options
@json_option
@click.pass_context
def validate(context: click.Context, /, **given: Any) -> None:
    report = _read(**{name: given[name] for name in ("session_id", "files", "folder", "url")})
    found = report.validation()
    if given["as_json"]:
        click.echo(encode(found))
    else:
        for issue in report.issues[: len(found["issues"])]:
            click.echo(printable(issue))
        click.echo(f"{count(found['events'], 'event')}, {count(len(report.issues), 'issue')}.")
    context.exit(0 if report.is_valid else 1)


@click.command(
    help=help_with_examples(
        "Print the dispatch tokens of SESSION, in order of dispatch, from its events alone.\n\nOf a session"
        " whose children have all ended they are the stored tokens, byte by byte. A lease is no event: a child that is"
        " leased and has not started is printed as queued. Events that are not sound are refused.",
        ["leasehold agents events replay demo", "leasehold agents events replay --files events > tokens.ndjson"],
    )
)
@session_argument
@files_option
@place_options
def replay(session_id: str | None, files: Path | None, folder: Path, url: str) -> None:
    click.echo(_read(session_id, files, folder, url).replay(), nl=False)


@click.command(
    help=help_with_examples(
        "Count what happened in SESSION: events, children, how they ended.",
        ["leasehold agents events summary demo", "leasehold agents events summary --files events --json"],
    )
)
@session_argument
@files_option
@place_options
@json_option
def summary(session_id: str | None, files: Path | None, folder: Path, url: str, *, as_json: bool) -> None:
    found = _read(session_id, files, folder, url).summary()
    if as_json:
        click.echo(encode(found))
        return
    for session in found["sessions"]:
        click.echo(f"{session['parent_session_id']}  {session['first_ts']} to {session['last_ts']}")
        facts = {"children": session["children"], "dispatched": session["dispatched"]}
        click.echo(f"  {counts_text({**facts, 'cancelled': session['cancelled'], **session['ends']})}")
        for counted in (session["codes"], session["events"]):
            if counted:
                click.echo(f"  {counts_text(counted)}")
    if not found["valid"]:
        click.echo("The events are not sound: `leasehold agents events validate` lists what is wrong.", err=True)


def _read(session_id: str | None, files: Path | None, folder: Path, url: str) -> EventReport:
    from leasehold.pipelines.agents.event_reports.report import read_report
    from leasehold.pipelines.agents.event_reports.streams import lines_of_folder, lines_of_session

    if (session_id is None) == (files is None):
        raise click.UsageError("Name a SESSION, or pass --files DIR.")
    if files is not None:
        return read_report(lines_of_folder(files))
    with open_place(folder, url, is_new=False) as place:
        return read_report(lines_of_session(place.records, str(session_id)))
