"""Every time-out and wait of the download pipeline, in one place; each name has one meaning."""

from typing import Final

# Leases.
LEASE_SECONDS: Final = 60.0  # of a worker
TTL_SECONDS: Final = 120  # of a script
PARKED_SECONDS: Final = 3_600.0  # until a script's file that was not indexed is leased again

# Waiting.
BUSY_SECONDS: Final = 30.0  # for another writer to a SQLite file
CHECK_SECONDS: Final = 0.5  # between two looks at a stream that may stall
PATIENCE_SECONDS: Final = 3.0  # for a file to be published while the worker stops
LOOK_SECONDS: Final = 0.2  # between two looks at whether the worker stops
WINDOW_SECONDS: Final = 20.0  # over which the speed of a run is estimated

# How old what a crash left must be before it is repaired.
PART_SECONDS: Final = 3_600.0
OPERATION_SECONDS: Final = 600.0
OBJECT_SECONDS: Final = 60.0
