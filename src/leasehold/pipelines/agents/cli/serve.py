"""`leasehold agents serve`: sessions over HTTP. The packages of the extra are imported by the command itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from leasehold.pipelines.agents.cli.options import place_options
from leasehold.pipelines.shell.extras import explain_missing
from leasehold.pipelines.shell.options import help_with_examples

PORT: Final = 8618


@click.command(
    help=help_with_examples(
        "Serve sessions over HTTP to programs that have the bearer token.\n\nEverybody who has the token runs commands"
        " as this user: any program on PATH or in --folder, and it starts in --folder or below. The token is read from"
        " --token-file or from LEASEHOLD_AGENTS_TOKEN; without either, one is made and kept in"
        " .leasehold/agents-http.token of --folder, which only you can read.\n\nThe server speaks plain HTTP on"
        " loopback. SIGTERM or Ctrl-C stops it and the children of its sessions; a second signal stops it at once.",
        [
            "leasehold agents serve --folder work",
            "leasehold agents serve --folder work --port 0 --token-file ~/.agents-token",
        ],
    )
)
@place_options
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=PORT,
    show_default=True,
    help="0: any free port; the command prints which.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="Has the bearer token, and can be read by you alone. Others can read a command line.",
)
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Another host name than those of loopback that requests may name; may be repeated.",
)
@click.option(
    "--allow-remote",
    "sentence",
    metavar="SENTENCE",
    help="Needed for another address than loopback: 'everybody who has the token runs commands as this user'.",
)
def serve(**options: Any) -> None:
    try:
        from leasehold.pipelines.agents.http.serve import ServeOptions, serve_sessions
    except ModuleNotFoundError as error:
        raise explain_missing(error, "agents") from error
    serve_sessions(ServeOptions(**options), click.echo)
