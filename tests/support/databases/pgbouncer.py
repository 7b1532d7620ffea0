"""A pooler in front of one server: a real pgbouncer in transaction mode; or, without one, a proxy that looks like it.

pgbouncer is a Debian package. The proxy gives every client a connection of its own, but the engine takes it for a
pooler, and does with it what it does with one.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator

import psycopg

from tests.support.databases.binaries import server_account
from tests.support.databases.cutting_proxy import CuttingProxy
from tests.support.databases.postgres import PostgresServer, free_port
from tests.support.processes.guarded_server import GuardedServer

SETTINGS = """
[databases]
* = host=127.0.0.1 port={server} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
ignore_startup_parameters = extra_float_digits,options
"""


PLAIN = "sslmode=disable&gssencmode=disable"  # so that the proxy can read the messages


@contextlib.contextmanager
def pooler(server: PostgresServer, database: str, program: str | None) -> Iterator[str]:
    """Put a pooler in front of a server that listens on 127.0.0.1, and give the way through it."""
    if program is not None:
        with PgBouncer(server, database, program) as pool:
            yield pool.url(database)
        return
    with CuttingProxy(server.port) as proxy:
        proxy.is_pooler = True
        yield f"postgresql://postgres@127.0.0.1:{proxy.port}/{database}?{PLAIN}"


class PgBouncer(GuardedServer):
    """Pools connections: a client has one of the server only for the length of a transaction."""

    def __init__(self, server: PostgresServer, database: str, program: str) -> None:
        account = server_account()
        self.port = free_port()
        self._database = database
        super().__init__("bouncer")
        settings = self._folder / "pgbouncer.ini"
        settings.write_text(SETTINGS.format(server=server.port, own=self.port))
        for path in (self._folder, settings):
            os.chown(path, account.get("user", -1), account.get("group", -1))
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [program, str(settings)],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **account,
            )

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise RuntimeError(f"pgbouncer did not start:\n{(self._folder / 'log').read_text()}")
        try:
            psycopg.connect(self.url(self._database)).close()
        except psycopg.OperationalError:
            return False
        return True
