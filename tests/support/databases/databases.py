"""The databases of a server that lives as long as the tests do: one after the other, each for one test alone.

Owns the one connection that makes and drops them all: to open two for each took a third of what a database takes.
"""

from functools import partial

import psycopg

from tests.support.databases.postgres import PostgresServer
from tests.support.databases.template import Kept


class Databases:
    """Makes databases, and drops what is given back. The server must not be stopped meanwhile."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._kept = Kept(partial(psycopg.connect, server.url(), autocommit=True))
        self._given_back: list[str] = []

    def make(self, template: str | None = None) -> str:
        """Make a database of its own name and return its URL."""
        with self._kept.lent() as connection:
            return self._server.create_database(template, connection)

    def give_back(self, url: str) -> None:
        """Drop this database when the next one is given back: nobody else ever gets it.

        Its connections were closed a moment ago. A DROP that comes before the server has seen that waits 100 ms.
        """
        self._drop()
        self._given_back.append(url)

    def close(self) -> None:
        """Drop what is left, and hang up."""
        self._drop()
        self._kept.close()

    def _drop(self) -> None:
        while self._given_back:
            with self._kept.lent() as connection:
                self._server.drop_database(self._given_back.pop(), connection)
