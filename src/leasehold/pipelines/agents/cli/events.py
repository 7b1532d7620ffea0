"""`leasehold agents events`: what was decided, in order, as lines of JSON."""

from __future__ import annotations

import time
from pathlib import Path

import click

from leasehold.pipelines.agents.cli.event_reports import replay, summary, validate
from leasehold.pipelines.agents.cli.options import place_options
from leasehold.pipelines.agents.event_files import EventFiles
from leasehold.pipelines.agents.events import events_of
from leasehold.pipelines.agents.limits import SNAPSHOT_SECONDS
from leasehold.pipelines.agents.place import AgentsPlace, open_place
from leasehold.pipelines.agents.records.records import Transaction
from leasehold.pipelines.agents.sessions import read_session
from leasehold.pipelines.agents.tokens import find
from leasehold.pipelines.shell.options import GroupWithDefault, help_with_examples, url_option


class EventsGroup(GroupWithDefault):
    """Prints events unless another verb is named."""

    default_command = "print"
    extra = ""


@click.group(
    cls=EventsGroup,
    help=help_with_examples(
        "Print the events of a session, or of one of its children, in order.",
        [
            "leasehold agents events demo",
            "leasehold agents events demo.parser --follow",
            "leasehold agents events validate demo     check that they are whole and in order",
            "leasehold agents events replay demo       print the order of dispatch, from events alone",
        ],
    ),
)
@url_option
def events(url: str) -> None:
    """Print events."""


events.add_command(validate)
events.add_command(replay)
events.add_command(summary)


@events.command(
    "print",
    help=help_with_examples(
        "Print the events of SESSION, or of CHILD, as lines of JSON.\n\nThe word `print` may be left out.",
        ["leasehold agents events print demo", "leasehold agents events print demo.parser --after 12"],
    ),
)
@click.argument("name", metavar="SESSION|CHILD")
@click.option("--follow", is_flag=True, help="Wait for more, until nobody coordinates the session.")
@click.option("--after", type=click.IntRange(0), default=0, metavar="SEQ", help="Only what comes after this number.")
@click.option("--files", is_flag=True, help="Bring the session's NDJSON files up to date, and print their folder.")
@place_options
def print_events(name: str, after: int, folder: Path, url: str, *, follow: bool, files: bool) -> None:
    with open_place(folder, url, is_new=False) as place:
        stream_id, session_id = place.records.read(lambda transaction: _stream(transaction, name))
        if files:
            home = place.home(session_id) / "events"
            EventFiles(place.records, home).project_session(session_id)
            click.echo(home)
            return
        while True:
            is_over = not follow or not _is_coordinated(place, session_id)
            for event in place.records.read(lambda transaction: list(events_of(transaction, stream_id, after))):  # noqa: B023
                click.echo(event.body)
                after = event.seq
            if is_over:
                return
            time.sleep(SNAPSHOT_SECONDS)


def _stream(transaction: Transaction, name: str) -> tuple[str, str]:
    """Return a child's stream, or else a session's, and the session."""
    if transaction.run("token/find", child_id=name):
        token = find(transaction, name)
        return token.stream_id, token.parent_session_id
    return read_session(transaction, name).parent_stream_id, name


def _is_coordinated(place: AgentsPlace, session_id: str) -> bool:
    return place.records.read(lambda transaction: read_session(transaction, session_id)).coordinator is not None
