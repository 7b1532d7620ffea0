"""`leasehold queues`: list, pause, resume, limit."""

import click

from leasehold.cli.options import group, json_option, open_app
from leasehold.cli.table import Column, echo, print_found, print_table
from leasehold.cli.text import parse_count
from leasehold.errors import OptionInvalid, number_text

COLUMNS = (
    Column("QUEUE", lambda one: one.name, flexible=True),
    Column("STATE", lambda one: "paused" if one.paused else "open", rank=1),
    Column("LIMIT", lambda one: one.capacity or "", rank=2, right=True),
    Column("RATE", lambda one: "" if one.rate is None else f"{number_text(one.rate)}/s", rank=4, right=True),
    Column("NEW", lambda one: one.waiting, rank=3, right=True),
    Column("READY", lambda one: one.ready, right=True),
    Column("RUNNING", lambda one: one.running, right=True),
)


@group("leasehold queues", "leasehold queues pause mail", "leasehold queues limit mail 4", invoke_without_command=True)
@json_option
@click.pass_context
def queues(context: click.Context, *, as_json: bool) -> None:
    """List, pause, resume and limit queues.

    Lists the queues that hold tasks or have settings.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_queues, as_json=as_json)


@queues.subcommand("leasehold queues list --json", name="list")
@json_option
def list_queues(*, as_json: bool) -> None:
    """List the queues."""
    with open_app() as app:
        found = app.queues.all()
    print_found(found, lambda found: print_table(COLUMNS, found), as_json=as_json)


@queues.subcommand("leasehold queues pause mail")
@click.argument("name")
def pause(name: str) -> None:
    """Pause a queue: no worker claims from it.

    Running tasks continue, and jobs can be submitted.
    """
    with open_app() as app:
        app.queues.pause(name)
    echo(f"queue {name} is paused")


@queues.subcommand("leasehold queues resume mail")
@click.argument("name")
def resume(name: str) -> None:
    """Let workers claim from a queue again."""
    with open_app() as app:
        app.queues.resume(name)
    echo(f"queue {name} is open")


@queues.subcommand(
    "leasehold queues limit mail 4",
    "leasehold queues limit mail 4 --rate 0.5",
    "leasehold queues limit 'web/*' 2 --rate 10",
    "leasehold queues limit mail none",
)
@click.argument("name")
@click.argument("most", metavar="N|none")
@click.option("--rate", type=float, metavar="R", help="Start at most R tasks per second, on average.")
def limit(name: str, most: str, *, rate: float | None) -> None:
    """Limit how many tasks run at once, and how many start per second.

    At most N of the queue, over all workers; 'none' lifts the limit and the rate. Running tasks count, and are not
    stopped. Without --rate, a rate that was set before is lifted. The name `web/*` limits every branch of `web`.
    """
    capacity = parse_count(most)
    if capacity is None and most.lower() != "none":
        raise OptionInvalid(f"A queue's limit is a whole number or 'none'; got '{most[:80]}'.")
    with open_app() as app:
        app.queues.limit(name, capacity, rate=rate)
    pace = "" if rate is None else f" and starts at most {number_text(rate)} per second"
    echo(f"queue {name} has no limit" if capacity is None else f"queue {name} runs at most {capacity} at once{pace}")
