"""Bringing a database to this version.

A new one gets the whole schema, an older one the migrations it lacks, under a lock.
"""

from __future__ import annotations

from functools import partial

from leasehold.errors import SchemaForeign, SchemaMissing, SchemaTooNew
from leasehold.store.db import statements
from leasehold.store.db.database import Database, Row, Session


def latest(dialect: str) -> int:
    """Return the newest schema version this engine knows."""
    return len(statements.migrations(dialect))


def version(database: Database) -> int:
    """Return the schema version of the database; 0 if it has none."""
    if not database.read("schema/exists")[0][0]:
        return 0
    return _number(database.read("schema/version"))


def _number(stamp: list[Row]) -> int:
    if not stamp or not str(stamp[0][0]).isdecimal():
        raise SchemaForeign("Its `meta` holds no schema version.")
    return int(stamp[0][0])


def check(found: int, dialect: str) -> None:
    """Raise unless this version of a schema is exactly the one this engine was made for."""
    known = latest(dialect)
    if found > known:
        raise SchemaTooNew(f"Its schema has version {found}; this engine knows {known}.")
    if found < known:
        raise SchemaMissing(f"Its schema has version {found}; this engine needs {known}.")


def migrate(database: Database) -> tuple[int, int]:
    """Bring the schema to this engine's version; return the versions before and after."""
    return database.transact(partial(_migrate_locked, database.dialect.name))


def _migrate_locked(dialect: str, session: Session) -> tuple[int, int]:
    session.run("schema/lock")
    known = latest(dialect)
    exists = session.run("schema/exists")[0][0]
    found = _number(session.run("schema/version")) if exists else 0
    if found > known:
        raise SchemaTooNew(f"Its schema has version {found}; this engine knows {known}.")
    if found < known:
        _bring_up(session, dialect, found)
        session.run("schema/stamp", version=str(known))
    return found, known


def _bring_up(session: Session, dialect: str, found: int) -> None:
    if found == 0:
        if session.run("schema/foreign")[0][0]:
            raise SchemaForeign
        session.script("schema", dialect)
        return
    for name in statements.migrations(dialect)[found:]:
        session.script(f"{dialect}/migrations", name)
