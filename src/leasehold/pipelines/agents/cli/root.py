"""`leasehold agents`: the group, and which module has each of its verbs."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

from leasehold.errors import did_you_mean
from leasehold.pipelines.shell.options import CONTEXT, help_with_examples, url_option

# By verb: its module here, whose function has the verb's name (`_` for `-`).
VERBS: Final = {
    "run": "run",
    "spawn": "children",
    "cancel": "children",
    "status": "status",
    "events": "events",
    "report": "report",
    "verify": "status",
    "serve": "serve",
    "stop-gate": "stop_gate",
}


class Agents(click.Group):
    """Imports a verb when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 — the same in every context
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        module = import_module(f"leasehold.pipelines.agents.cli.{VERBS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not context.resilient_parsing and args[0] not in VERBS and not args[0].startswith("-"):
            context.fail(f"No such command '{args[0][:80]}'.{did_you_mean(args[0], VERBS)}")
        return super().resolve_command(context, args)


@click.group(
    cls=Agents,
    help=help_with_examples(
        "Run commands as children of one session.\n\nThey run in an order on record, within shared budgets. A plan"
        " names them; what they print is kept, redacted; a crash loses no record, and nothing is run twice by itself.",
        [
            "leasehold agents run plan.toml            run a plan; run again to go on",
            "leasehold agents run plan.toml --again    run again what a crash or Ctrl-C ended",
            "leasehold agents status                   list sessions; with one, its children",
            "leasehold agents cancel demo.parser       end one child",
            "leasehold agents events demo              print what was decided, in order",
        ],
    ),
    context_settings=CONTEXT,
)
@url_option
def agents(url: str) -> None:
    """Run commands as children of one session."""
