"""How long the tables of the agents pipeline are waited for, and how much is read or written at once."""

from typing import Final

BUSY_SECONDS: Final = 30.0  # for another writer to a SQLite file
RETRY_SECONDS: Final = 60.0  # while a transaction meets busy, deadlock or a lost connection
RETRY_PAUSE_FIRST: Final = 0.01
RETRY_PAUSE_MAX: Final = 1.0
IDLE_CONNECTIONS_MAX: Final = 4
PAGE: Final = 1_000  # rows that are read at once
RECOVERY_BATCH: Final = 200  # children that one transaction of a recovery ends
