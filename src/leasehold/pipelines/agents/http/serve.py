"""Serves the sessions of a folder until SIGTERM or Ctrl-C: what `leasehold agents serve` does.

At the end streams of events are closed, requests under way are answered, and then the children of every session that
runs here are stopped. Killed instead, it leaves what the next server recovers.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from leasehold.pipelines.agents.http.app import make_app
from leasehold.pipelines.agents.http.bearer_token import find_token
from leasehold.pipelines.agents.http.hosted import HostedSessions
from leasehold.pipelines.agents.http.routes import AgentsApi
from leasehold.pipelines.agents.http.server import HttpServer, allowed_hosts, check_address, listen, url_of
from leasehold.pipelines.agents.place import AgentsPlace, open_place
from leasehold.pipelines.shell.locate import HOME
from leasehold.processes import Stop, stop_on_signals

SIGNALS_MAX: Final = 1  # the second one ends the server at once


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Where to listen, for whom, and which folder children run in."""

    folder: Path
    url: str = ""
    host: str = "127.0.0.1"
    port: int = 0
    token_file: Path | None = None
    allowed_hosts: tuple[str, ...] = ()
    sentence: str | None = None


def serve_sessions(options: ServeOptions, show: Callable[[str], object]) -> None:
    check_address(options.host, options.sentence)
    with open_place(options.folder, options.url) as place:
        serve_place(place, options, show)


def serve_place(place: AgentsPlace, options: ServeOptions, show: Callable[[str], object]) -> None:
    """Serve what is open already. `show` is called when clients may connect; they wait until it is ready."""
    with (
        stop_on_signals(Stop(SIGNALS_MAX)) as stop,
        closing(HostedSessions(place)) as sessions,
        closing(AgentsApi(sessions)) as api,
        closing(listen(options.host, options.port)) as listener,
    ):
        sessions.take_up()
        token = find_token(options.token_file, place.root / HOME)
        app = make_app(api, token.text, allowed_hosts(options.host, options.allowed_hosts))
        show(f"Listening on {url_of(listener)}, bearer token: {token.source}")
        HttpServer(app, stop, api.stop).run(sockets=[listener])
