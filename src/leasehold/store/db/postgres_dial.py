"""Opening a connection to PostgreSQL, with one kind of error for every way in which that fails."""

import psycopg


def dial(conninfo: str) -> psycopg.Connection[tuple[object, ...]]:
    """Open a connection. With no descriptor to be had the driver would let a bare OSError through."""
    try:
        return psycopg.connect(conninfo, autocommit=True)
    except OSError as error:
        raise psycopg.OperationalError(str(error)) from error
