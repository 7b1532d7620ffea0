"""The schema of artifacts in a SQLite file of the caller's: `artifact_jobs`, `artifact_ops` and `_meta`, to be read."""

import secrets
from contextlib import closing
from typing import Final

from leasehold import Leasehold, Misuse
from leasehold.pipelines.download.collection import declare
from leasehold.pipelines.download.script_engine import ask, fact, refuse

__all__ = ["apply_migration", "get_schema_version"]

SCHEMA_VERSION: Final = 3


def apply_migration(conn: object) -> None:
    """Give a file its schema, or nothing new if it has it. Safe to repeat and to race; after a crash, repeat it.

    The engine's tables are committed first, the views on them and the version next.
    """
    if found := ask(conn, "foreign_tables", {})[0][0]:
        raise Misuse(f"Tables of an earlier system stand in this file ({found}); rename them or use another file.")
    with closing(Leasehold(connection=conn)) as app:
        declare(app, refuse)
        app.migrate()
        with app.transaction(conn):
            ask(conn, "migration", {})
            ask(conn, "write_meta", {"key": "place", "value": secrets.token_hex(16)})
            ask(conn, "write_meta", {"key": "schema_version", "value": str(SCHEMA_VERSION)})


def get_schema_version(conn: object) -> int:
    return int(fact(conn, "schema_version") or 0)
