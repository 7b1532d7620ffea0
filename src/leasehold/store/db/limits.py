"""Time-outs, pauses and sizes of the database layer."""

from typing import Final

# Operations are repeated after transient errors for so long; before the first answer of a database, only briefly.
RETRY_SECONDS: Final = 60.0
FIRST_ANSWER_SECONDS: Final = 3.0
RETRY_PAUSE_FIRST: Final = 0.005
RETRY_PAUSE_MAX: Final = 1.0

# SQLite: how long a statement waits for another writer.
BUSY_SECONDS: Final = 30.0
STATEMENTS_KEPT: Final = 1_000  # prepared, by connection: more than the store has

# PostgreSQL. A process that is frozen inside a transaction of ours holds its rows no longer than IDLE_TRANSACTION.
CONNECT: Final[dict[str, str | int]] = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "application_name": "leasehold",
}
ROWS_KEPT_MAX: Final = 1_000  # of a result, by an idle connection
COPY_MIN: Final = 100  # submissions, from which COPY is faster
COPY_CHUNK: Final = 1_000

# Wake-ups.
RECONNECT_PAUSE_FIRST: Final = 0.1
RECONNECT_PAUSE_MAX: Final = 5.0
HINT_BYTES_MAX: Final = 8_192
LISTENERS_MAX: Final = 256
BIND_TRIES: Final = 3

DRIVER_TEXT_MAX: Final = 32 * 1024  # characters of a driver's error that are redacted and shown
