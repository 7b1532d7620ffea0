"""Bring a database to this engine's schema version: the migrations it lacks, in one transaction, under a lock.

Versions below `FIRST` belong to development versions before 0.1. Such a database is refused, never changed.
"""

from functools import partial
from typing import Final

from leasehold.errors import SchemaForeign, SchemaMissing, SchemaTooNew
from leasehold.store.db import statements
from leasehold.store.db.database import Database, Row, Session

FIRST: Final = 8  # the version of 0001_baseline


def latest(dialect: str) -> int:
    return FIRST - 1 + len(statements.migrations(dialect))


def version(database: Database) -> int:
    return _number(database.read("schema/version")) if database.read("schema/exists")[0][0] else 0


def _number(stamp: list[Row]) -> int:
    if not stamp or not str(stamp[0][0]).isdecimal():
        raise SchemaForeign("Its `meta` holds no schema version.")
    return int(stamp[0][0])


def check(found: int, dialect: str) -> None:
    """Raise unless this version of a schema is exactly the one this engine was made for."""
    _refuse(found, latest(dialect))
    if not found:
        raise SchemaMissing("It is empty, or another program's.")
    if found < latest(dialect):
        raise SchemaMissing(f"Its schema has version {found}; this engine needs {latest(dialect)}.")


def _refuse(found: int, known: int) -> None:
    if found > known:
        raise SchemaTooNew(f"Its schema has version {found}; this engine knows {known}.")
    if 0 < found < FIRST:
        raise SchemaForeign(f"A development version before 0.1 made it (version {found}), so it cannot be upgraded.")


def migrate(database: Database) -> tuple[int, int]:
    """Bring the schema to this engine's version; return the versions before and after."""
    return database.transact(partial(_migrate_locked, database.dialect.name))


def _migrate_locked(dialect: str, session: Session) -> tuple[int, int]:
    session.run("schema/lock")
    known = latest(dialect)
    found = _number(session.run("schema/version")) if session.run("schema/exists")[0][0] else 0
    _refuse(found, known)
    if found == 0 and session.run("schema/foreign")[0][0]:
        raise SchemaForeign
    if found < known:
        for name in statements.migrations(dialect)[max(found - FIRST + 1, 0) :]:
            session.script(f"migrations/{name}")
        session.run("schema/stamp", version=str(known))
    return found, known
