"""The SQL files: one operation a file, the same names in both dialects. No statement is built from strings."""

from functools import cache
from importlib.resources import files

from leasehold import sqlfiles

_PACKAGE = "leasehold.store"


@cache
def encoded(folder: str, name: str) -> bytes:
    """Return the text of one file as psycopg wants it."""
    return sqlfiles.text(_PACKAGE, f"{folder}/{name}").encode()


@cache
def steps(folder: str, name: str) -> tuple[str, ...]:
    return sqlfiles.steps(_PACKAGE, f"{folder}/{name}")


@cache
def migrations(dialect: str) -> tuple[str, ...]:
    folder = files(_PACKAGE) / "sql" / dialect / "migrations"
    return tuple(sorted(entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql")))
