"""`leasehold agents spawn` and `cancel`: from any process, while another one coordinates the session."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import click

from leasehold.canonical import parse
from leasehold.errors import PayloadInvalid
from leasehold.pipelines.agents.cli.options import place_options
from leasehold.pipelines.agents.coordinator.session import cancel as cancel_stored
from leasehold.pipelines.agents.coordinator.session import spawn as spawn_stored
from leasehold.pipelines.agents.place import open_place
from leasehold.pipelines.agents.plan import child_of_request
from leasehold.pipelines.agents.specs import ChildSpec
from leasehold.pipelines.shell.options import help_with_examples

REQUEST_HELP = "An id of this request: the same id again returns the first answer."


@click.command(
    help=help_with_examples(
        "Add a child to a session that runs; COMMAND follows `--`. Prints the answer as JSON.",
        ["leasehold agents spawn demo --name lint -- ruff check .", "leasehold agents spawn demo -- python3 child.py"],
    )
)
@click.argument("session_id", metavar="SESSION")
@click.argument("command", metavar="-- COMMAND…", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--name", default="spawned", show_default=True, help="What people call it.")
@click.option("--input", "text", metavar="JSON", help="Its input.")
@click.option("--timeout", type=float, metavar="SECONDS")
@click.option("--in", "where", metavar="DIR", default=".", help="Where it runs, inside the plan's folder.")
@click.option("--worktree", is_flag=True, help="In a git work tree of its own; its diff is kept.")
@click.option("--env", multiple=True, metavar="NAME", help="A variable that it gets too; may be repeated.")
@click.option("--again-of", metavar="CHILD", help="The lost child that it repeats; its session can end then.")
@click.option("--request", metavar="ID", help=REQUEST_HELP)
@place_options
def spawn(session_id: str, request: str | None, folder: Path, url: str, **given: Any) -> None:
    with open_place(folder, url, is_new=False) as place:
        fields = {name: given[name] for name in ("name", "timeout", "worktree") if given[name] is not None}
        fields |= {"command": list(given["command"]), "folder": given["where"], "env": list(given["env"])}
        if given["text"] is not None:
            fields["input"] = _parsed(given["text"])
        child = ChildSpec.of_plan(child_of_request(fields, place.root))
        request_id = request or uuid.uuid4().hex
        answer = spawn_stored(place, session_id, child, request_id, again_of=given["again_of"])
    click.echo(json.dumps(answer))


def _parsed(text: str) -> Any:
    try:
        return parse(text)
    except PayloadInvalid as error:
        raise click.BadParameter(error.detail, param_hint="--input") from None


@click.command(
    help=help_with_examples(
        "End a child: SIGTERM to everything below it, 2 seconds, SIGKILL. Prints the answer as JSON.",
        ["leasehold agents cancel demo.parser"],
    )
)
@click.argument("child_id", metavar="CHILD")
@click.option("--request", metavar="ID", help=REQUEST_HELP)
@place_options
def cancel(child_id: str, request: str | None, folder: Path, url: str) -> None:
    with open_place(folder, url, is_new=False) as place:
        answer = cancel_stored(place, child_id, request or uuid.uuid4().hex)
    click.echo(json.dumps(answer))
