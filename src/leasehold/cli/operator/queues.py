"""`leasehold queues`: list, pause, resume, limit."""

import click
from msgspec import to_builtins

from leasehold.cli.options import help_with_examples, json_option, open_app, url_option
from leasehold.cli.table import Column, echo, print_table
from leasehold.cli.text import json_document, parse_count
from leasehold.errors import OptionInvalid

COLUMNS = (
    Column("QUEUE", flexible=True),
    Column("STATE", rank=1),
    Column("LIMIT", rank=2, right=True),
    Column("NEW", rank=3, right=True),
    Column("READY", right=True),
    Column("RUNNING", right=True),
)


@click.group(
    invoke_without_command=True,
    help=help_with_examples(
        "List, pause, resume and limit queues.\n\nLists the queues that hold tasks or have settings.",
        ["leasehold queues", "leasehold queues pause mail", "leasehold queues limit mail 4"],
    ),
)
@json_option
@url_option
@click.pass_context
def queues(context: click.Context, *, as_json: bool) -> None:
    if context.invoked_subcommand is None:
        print_queues(as_json=as_json)


@queues.command("list", help=help_with_examples("List the queues.", ["leasehold queues list --json"]))
@json_option
@url_option
def list_queues(*, as_json: bool) -> None:
    print_queues(as_json=as_json)


@queues.command(
    help=help_with_examples(
        "Pause a queue: no worker claims from it.\n\nRunning tasks continue, and jobs can be submitted.",
        ["leasehold queues pause mail"],
    )
)
@click.argument("name")
@url_option
def pause(name: str) -> None:
    with open_app() as app:
        app.queues.pause(name)
    echo(f"queue {name} is paused")


@queues.command(help=help_with_examples("Let workers claim from a queue again.", ["leasehold queues resume mail"]))
@click.argument("name")
@url_option
def resume(name: str) -> None:
    with open_app() as app:
        app.queues.resume(name)
    echo(f"queue {name} is open")


@queues.command(
    help=help_with_examples(
        "Limit how many tasks run at once.\n\nAt most N of the queue, over all workers; 'none' lifts the limit."
        " Running tasks count, and are not stopped.",
        ["leasehold queues limit mail 4", "leasehold queues limit mail none"],
    )
)
@click.argument("name")
@click.argument("most", metavar="N|none")
@url_option
def limit(name: str, most: str) -> None:
    capacity = parse_limit(most)
    with open_app() as app:
        app.queues.limit(name, capacity)
    echo(f"queue {name} has no limit" if capacity is None else f"queue {name} runs at most {capacity} at once")


def parse_limit(text: str) -> int | None:
    if text.lower() == "none":
        return None
    if (number := parse_count(text)) is None:
        raise OptionInvalid(f"A queue's limit is a whole number or 'none'; got '{text[:80]}'.")
    return number


def print_queues(*, as_json: bool) -> None:
    with open_app() as app:
        found = app.queues.all()
    if as_json:
        echo(json_document(to_builtins(found)))
        return
    rows = [
        [one.name, "paused" if one.paused else "open", one.capacity or "", one.waiting, one.ready, one.running]
        for one in found
    ]
    print_table(COLUMNS, rows)
