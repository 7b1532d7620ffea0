"""`leasehold deliveries`: what was sent, what was not, what is in doubt."""

from collections.abc import Iterable
from contextlib import closing
from typing import Any

import click

from leasehold.cli.options import JOB_ID, find_app, group, json_option, open_app
from leasehold.cli.table import Column, echo, print_found, print_lines, print_table
from leasehold.cli.text import ago, count, failure_text, json_document, json_line, printable, utc
from leasehold.errors import OptionInvalid
from leasehold.insight.read import deliveries as insight
from leasehold.insight.read.deliveries import Delivery
from leasehold.insight.wording import duration
from leasehold.model.limits import PAGE_MAX
from leasehold.model.outbox import DeliveryStatus

COLUMNS = (
    Column("ID", lambda one: one.id, right=True),
    Column("STATUS", lambda one: one.status.value),
    Column("SUBJECT", lambda one: one.subject, rank=1, flexible=True),
    Column("RECIPIENT", lambda one: one.recipient, rank=2, flexible=True),
    Column("VERSION", lambda one: one.version, rank=3, right=True),
    Column("PROVIDER", lambda one: one.provider, rank=5, flexible=True),
    Column("WRITTEN", lambda one: ago(one.created_at), rank=6),
    Column("FAILURE", lambda one: failure_text(one.failure), rank=4, flexible=True),
)


@group(
    "leasehold deliveries",
    "leasehold deliveries list --status in_doubt",
    "leasehold deliveries answer 7 --sent",
    invoke_without_command=True,
)
@json_option
@click.pass_context
def deliveries(context: click.Context, *, as_json: bool) -> None:
    """List deliveries, and decide those in doubt.

    in_doubt: it may have been sent, and its provider cannot look it up; check, then use `answer`. failed: refused
    permanently, or not accepted in any attempt. reconciling: it was marked without evidence and is being looked up.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_deliveries, as_json=as_json)


@deliveries.subcommand(
    "leasehold deliveries list --status in_doubt --json", "leasehold deliveries list --subject change-17", name="list"
)
@click.option("--status", type=click.Choice([status.value for status in DeliveryStatus], case_sensitive=False))
@click.option("--subject", help="Only deliveries of this subject.")
@click.option("--limit", type=click.IntRange(1, PAGE_MAX), default=50, show_default=True)
@click.option("--before", type=JOB_ID, metavar="ID", help="Only deliveries older than this one.")
@json_option
def list_deliveries(*, as_json: bool, **filters: Any) -> None:
    """List deliveries, newest first.

    A page ends after --limit; --before ID continues where the last one ended.
    """
    with open_app() as app:
        found = insight.listing(app.store, **filters)
        backlogs = app.store.deliveries.backlogs()
    print_found(found, lambda found: print_table(COLUMNS, found), as_json=as_json)
    for backlog in () if as_json else backlogs:
        if (waited := insight.unserved(backlog)) is not None:
            due = f"{backlog.late} due for provider {printable(backlog.provider)}, for {duration(waited)}"
            echo(f"{due}: no relay seems to have it", error=True)


@deliveries.subcommand("leasehold deliveries show 7", "leasehold deliveries show 7 --json")
@click.argument("delivery_id", metavar="ID", type=JOB_ID)
@json_option
def show(delivery_id: int, *, as_json: bool) -> None:
    """Show a delivery in full.

    Its message, the provider's id of it, its last failure, and what people did about it.
    """
    with open_app() as app:
        found = insight.find(app.store, delivery_id)
        actions = insight.actions(app.store, delivery_id)
    if as_json:
        answers = [one for one in actions if one["action"] == "answer"]
        echo(json_document({**found.plain(), "answers": answers, "audit": actions}))
    else:
        print_lines(_lines(found, actions))


@deliveries.subcommand("leasehold deliveries reconcile shop.jobs:app", "leasehold deliveries reconcile shop.jobs:app 7")
@click.argument("app", metavar="MODULE:APP")
@click.argument("delivery_id", metavar="[ID]", type=JOB_ID, required=False)
@json_option
def reconcile(app: str, delivery_id: int | None, *, as_json: bool) -> None:
    """Look up deliveries that are in doubt or reconciling.

    Asks the providers of MODULE:APP about one delivery or all of them. A delivery that is found is marked sent; one
    that the provider never received is sent again; the rest stays in doubt. The user is recorded. MODULE:APP is
    imported with this folder on the path.
    """
    with closing(find_app(app)) as found:
        checked = found.deliveries.reconcile(delivery_id)
    lines = [*(f"delivery {one.id} is {one.status.value}" for one in checked), f"{count(len(checked), 'look-up')} done"]
    print_found(checked, lambda _: print_lines(lines), as_json=as_json)


@deliveries.subcommand(
    "leasehold deliveries answer 7 --sent --notification-id 4XyZ --notes 'seen in the mail log'",
    "leasehold deliveries answer 7 --not-sent",
)
@click.argument("delivery_id", metavar="ID", type=JOB_ID)
@click.option("--sent", is_flag=True, help="It was sent.")
@click.option("--not-sent", is_flag=True, help="It was not sent.")
@click.option("--notification-id", metavar="TEXT", help="The provider's own id of it.")
@click.option("--notes", default="", metavar="TEXT", help="How you know; kept with the answer.")
@json_option
def answer(
    delivery_id: int, *, sent: bool, not_sent: bool, notification_id: str | None, notes: str, as_json: bool
) -> None:
    """Record whether a delivery was sent.

    For one that is in doubt, reconciling or failed. --sent marks it sent, with the provider's id if you have it;
    --not-sent sends it like a new one. The user is recorded.
    """
    if sent == not_sent:
        raise OptionInvalid("Pass either --sent or --not-sent.")
    if notification_id is not None and not sent:
        raise click.UsageError("--notification-id needs --sent.")
    with open_app() as app:
        found = app.deliveries.answer(delivery_id, sent=sent, notification_id=notification_id, notes=notes)
    print_found(found, lambda found: echo(f"delivery {found.id} is {found.status.value}"), as_json=as_json)


def _lines(one: Delivery, actions: list[dict[str, Any]]) -> Iterable[str]:
    yield f"delivery {one.id}  {one.status.value}"
    yield f"  subject    {printable(one.subject)}, version {one.version}"
    yield f"  recipient  {printable(one.recipient)}"
    yield f"  provider   {printable(one.provider)}, {count(one.attempts, 'attempt')}"
    yield f"  task       {one.task_id}, {ago(one.created_at)}"
    if one.due_at is not None:
        yield f"  due        {utc(one.due_at)}"
    if one.notified_at is not None:
        yield f"  sent       {utc(one.notified_at)}, {ago(one.notified_at)}"
    if one.notification_id is not None:
        yield f"  id there   {printable(one.notification_id)}"
    if one.failure is not None:
        yield f"  failure    {failure_text(one.failure)}"
        if (doubt := one.failure.get("first_doubt")) is not None:
            yield f"  doubt      {failure_text(doubt)}"
    yield f"  message    {json_line(one.message)}"
    for entry in actions:
        who = f"by {printable(entry['principal'])} at {entry['at']}"
        verdict = f"{'sent' if entry.get('sent') else 'not sent'}, {who}: {printable(entry.get('notes', ''))}"
        yield f"  looked up  {who}" if entry["action"] == "reconcile" else f"  answered   {verdict}"
