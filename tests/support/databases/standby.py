"""A standby: a server made from a copy of another that it follows, and that can be made the primary.

The primary is to wait for it with every commit (`synchronous_standby_names`), so what was acknowledged is on both.
"""

import psycopg

from tests.support.databases.postgres import PostgresServer
from tests.support.wait import until

FOLLOWED = {"wal_level": "replica", "max_wal_senders": "4", "hot_standby": "on"}


class Standby(PostgresServer):
    """Follows a primary that listens on 127.0.0.1 and was started with the settings in FOLLOWED."""

    def __init__(self, primary: PostgresServer) -> None:
        super().__init__(tcp=True, binaries=primary.binaries)
        self._primary = primary

    def follow(self) -> None:
        """Start, and have the primary wait for this standby from now on."""
        self.settings |= FOLLOWED
        self.start()
        with psycopg.connect(self._primary.url(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
            query = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
            until(lambda: connection.execute(query).fetchall() == [(1,)])

    def promote(self) -> None:
        """Become the primary; nobody waits for a standby any more."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")

    def _make_cluster(self) -> None:
        source = ("-h", "127.0.0.1", "-p", str(self._primary.port), "-U", "postgres")
        options = ("-X", "stream", "-R", "--checkpoint=fast", "--no-sync")
        with (self.folder / "log").open("ab") as log:
            copied = self._run("pg_basebackup", "-D", str(self.cluster), *source, *options, log=log).wait()
        if copied != 0:
            raise RuntimeError(f"pg_basebackup failed:\n{self.log}")
