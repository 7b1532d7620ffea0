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
WAL_BYTES_MAX: Final = 64 << 20  # beyond it the file of the log is truncated; the same as in session/pragmas.sql
WAL_BUSY_MS: Final = 100  # how long writers may have to wait because the log is being truncated

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

# Rows of worker processes that ended or fell silent so long ago are removed when others register, a batch at a time.
WORKER_KEPT_SECONDS: Final = 7 * 24 * 3600.0
WORKERS_PRUNED_MAX: Final = 100
MANUAL_OWNER_USED_SECONDS: Final = 24 * 3600.0  # how often it is noted that an owner of manual leases is still there

# Wake-ups.
RECONNECT_PAUSE_FIRST: Final = 0.1
RECONNECT_PAUSE_MAX: Final = 5.0
COMMIT_LOOK_SECONDS_MIN: Final = 0.001  # between two looks whether a caller has ended its transaction
COMMIT_LOOK_SECONDS_MAX: Final = 0.02
COMMIT_LOOK_SHARE: Final = 0.1  # of the time that it has been open
WAKE_BURST_SECONDS: Final = 0.003  # for which hints are gathered before they are sent
NOTIFIER_CLOSE_SECONDS: Final = 2.0  # for its thread to send what is left
NOTIFIER_REST_SECONDS: Final = 10.0  # after which its thread ends
HINT_BYTES_MAX: Final = 8_192
LISTENERS_MAX: Final = 256
BIND_TRIES: Final = 3

DRIVER_TEXT_MAX: Final = 32 * 1024  # characters of a driver's error that are redacted and shown
