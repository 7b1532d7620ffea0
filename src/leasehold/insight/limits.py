"""Time-outs and sizes of the read models."""

from typing import Final

MEGABYTE: Final = 1_000_000

# What the doctor names.
CLOCK_SKEW_SECONDS_MAX: Final = 2.0  # of this machine's clock and the database's
EXPIRED_SECONDS_MAX: Final = 5.0  # a lease that nobody has reclaimed
DOCTOR_SECONDS: Final = 3.0  # for a database to answer
DISK_FREE_BYTES_MIN: Final = 10 * MEGABYTE  # less is as good as nothing: a log grows by more in a second
PINNED_SECONDS_MAX: Final = 30.0  # a transaction of PostgreSQL that is older
READ_SECONDS_MAX: Final = 1.0  # a read transaction of a SQLite file that stays open longer
READ_POLL_SECONDS: Final = 0.05
COMMAND_BYTES_MAX: Final = 4_096
COMMAND_LENGTH_MAX: Final = 80
NAMED_MAX: Final = 5

# What `explain` takes for late.
SILENT_SECONDS_MAX: Final = 90.0  # a worker of another host notes three times as often that it is alive
CLAIM_SECONDS_MAX: Final = 10.0  # a free worker claims within about a second
DELIVERY_LATE_SECONDS: Final = 60.0  # a due delivery that no relay has taken
MESSAGE_SHOWN_MAX: Final = 200
