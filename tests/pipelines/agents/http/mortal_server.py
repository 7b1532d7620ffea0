"""A server that kills itself with SIGKILL when the answer of an endpoint is stored, before it is sent.

`python -m tests.pipelines.agents.http.mortal_server ENDPOINT --folder DIR --url URL`
"""

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from leasehold.pipelines.agents.http.serve import ServeOptions, serve_place
from leasehold.pipelines.agents.place import open_place


class MortalRecords:
    """A backend whose process dies once an answer was committed."""

    def __init__(self, backend: Any, endpoint: str) -> None:
        self._backend = backend
        self._endpoint = endpoint
        self._is_due = False
        self.name = backend.name
        self.connect, self.script, self.explain = backend.connect, backend.script, backend.explain

    def run(self, connection: Any, name: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        self._is_due |= name == "request/insert" and values["endpoint"] == self._endpoint
        return self._backend.run(connection, name, values)

    @contextmanager
    def transaction(self, connection: Any, *, write: bool) -> Iterator[None]:
        with self._backend.transaction(connection, write=write):
            yield
        if self._is_due:
            os.kill(os.getpid(), signal.SIGKILL)


def main(endpoint: str, _: str, folder: str, __: str, url: str) -> None:
    with open_place(Path(folder), url) as place:
        place.records.backend = MortalRecords(place.records.backend, endpoint)
        serve_place(place, ServeOptions(Path(folder), url), click.echo)


if __name__ == "__main__":
    main(*sys.argv[1:])
