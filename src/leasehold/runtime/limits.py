"""Every time-out and wait of the runtime, in one place; each name has one meaning.

`guard.py` of isolated handlers has two of its own: it is a script of the standard library alone.
"""

from typing import Final

from leasehold import clock
from leasehold.model.limits import GROUP_MAX

# Claiming.
RESCAN_US: Final = clock.SECOND  # how often a claimer starts again from the first row, for rows that committed late
RESCAN_SHARE: Final = 20  # and at most this share of its time
BRANCH_LIST_US: Final = clock.SECOND
GATHER_SECONDS: Final = 0.005  # how long a claimer waits for more free slots
GATHER_SECONDS_MAX: Final = 0.05
CLAIM_RETRY_SECONDS: Final = 1.0
BACKLOG_MAX: Final = 8 * GROUP_MAX  # unwritten ends, above which nothing is claimed
LISTEN_SECONDS: Final = 0.5

# Leases.
HEARTBEAT_SECONDS_MAX: Final = 1.0
HEARTBEAT_SECONDS_MIN: Final = 0.02
IDLE_LEASE_MS: Final = 30_000  # what the heartbeat's pace is made for while no lease is held
RENEW_PATIENCE_SECONDS: Final = 1.0  # how long a renewal tries to reach the database
RENEW_AGAIN_SECONDS: Final = 0.01  # another transaction holds the row of a manual lease for a moment

# Upkeep.
PULSE_SECONDS: Final = 1.0
PULSE_SECONDS_MIN: Final = 0.01
SWEEP_OVERLAP_US: Final = 10 * clock.SECOND
SWEEP_FULL_EVERY: Final = 10

# Deliveries.
DELIVERY_LEASE_SECONDS: Final = 120.0
DELIVERY_RENEW_SECONDS: Final = DELIVERY_LEASE_SECONDS / 4
DELIVERY_MARGIN_SECONDS: Final = DELIVERY_LEASE_SECONDS / 4
DELIVERY_CONCURRENCY: Final = 8

# Handlers.
ISOLATED_POLL_SECONDS: Final = 0.2
SWITCH_DEFAULT_SECONDS: Final = 0.005  # Python's own switch interval
SWITCH_SECONDS: Final = 0.0005

# Running to an end.
DRAIN_POLL_SECONDS: Final = 0.02
DRAIN_POLL_SECONDS_MAX: Final = 0.25
RELAY_GRACE_SECONDS: Final = 30.0

# Shutdown with a database that is away: how long each part is waited for.
SHUTDOWN_SECONDS: Final = 10.0  # committer and upkeep together, unless the plan has another
SHUTDOWN_PATIENCE_SECONDS: Final = 2.0  # how long the last statements try to reach the database
CLAIMER_SHUTDOWN_SECONDS: Final = 2.0
UPKEEP_SHUTDOWN_SECONDS: Final = 5.0
RELAY_SHUTDOWN_SECONDS: Final = 5.0
LOOP_SHUTDOWN_SECONDS: Final = 1.0  # for what handlers left on the event loop
