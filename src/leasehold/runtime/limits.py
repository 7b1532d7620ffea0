"""Every time-out and wait of the runtime, in one place; each name has one meaning.

`guard.py` of isolated handlers has two of its own: it is a script of the standard library alone.
"""

from typing import Final

from leasehold import clock
from leasehold.model.limits import GROUP_MAX

# Claiming.
RESCAN_US: Final = clock.SECOND  # how often a claimer starts again from the first row, for rows that committed late,
RESCAN_SHARE: Final = 20  # or as soon as a task returned, at most this share of its time,
RESCAN_US_MAX: Final = 10 * clock.SECOND  # but no later
BRANCH_LIST_US: Final = clock.SECOND
GATHER_SECONDS: Final = 0.005  # how long a claimer waits for more free slots
GATHER_SECONDS_MAX: Final = 0.05
CLAIM_RETRY_SECONDS: Final = 1.0
BACKLOG_MAX: Final = 8 * GROUP_MAX  # unwritten ends, above which nothing is claimed
LISTEN_SECONDS: Final = 0.5
PASS_ON_MAX: Final = 8  # wake-ups that a worker without room passes on at once
PASS_ON_SECONDS: Final = 0.1  # until it may pass on one more
QUIET_EVERY_US: Final = 10 * clock.SECOND  # how often a worker tries to become idle for a suspect that must run alone
QUIET_SECONDS: Final = 1.0  # and how long it claims nothing else for that, at first
QUIET_SECONDS_MAX: Final = 60.0  # twice as long each time, if it did not become idle,
QUIET_SHARE: Final = 5  # and at most this share of its time

PENDING_KEPT_SECONDS: Final = 7 * 24 * 3600.0  # the pending file of a worker that is gone, as its row is kept
TEMPORARY_FILES_LOOK_MAX: Final = 10_000

# Leases.
HEARTBEAT_SECONDS_MAX: Final = 1.0
HEARTBEAT_SECONDS_MIN: Final = 0.02
IDLE_LEASE_MS: Final = 30_000  # what the heartbeat's pace is made for while no lease is held
RENEW_PATIENCE_SECONDS: Final = 1.0  # how long a renewal tries to reach the database
RENEW_AGAIN_SECONDS: Final = 0.01  # another transaction holds the row of a manual lease for a moment

# Upkeep.
PULSE_SECONDS: Final = 1.0
PULSE_SECONDS_MIN: Final = 0.01
UPKEEP_PATIENCE_SECONDS: Final = 5.0  # how long a database may be silent before that is logged; it asks again anyway
SEEN_SECONDS: Final = 30.0  # how often a worker notes that it is alive, for those that cannot look its process up
SWEEP_OVERLAP_US: Final = 10 * clock.SECOND
SWEEP_FULL_EVERY: Final = 10
CLEAR_US: Final = 10 * clock.SECOND  # how long after a verdict or a loss it is looked for what others lost by it
CLEAN_US: Final = 5 * clock.SECOND

# Deliveries.
DELIVERY_LEASE_SECONDS: Final = 120.0
DELIVERY_RENEW_SECONDS: Final = DELIVERY_LEASE_SECONDS / 4
DELIVERY_MARGIN_SECONDS: Final = DELIVERY_LEASE_SECONDS / 4
DELIVERY_CONCURRENCY: Final = 8

# Rest: what nobody has used for so long is ended or closed, and made again when it is needed.
THREAD_REST_SECONDS: Final = 10.0
CONNECTION_REST_SECONDS: Final = 30.0

# Handlers.
ISOLATED_POLL_SECONDS: Final = 0.2
ISOLATED_START_SECONDS: Final = 120.0  # how long an isolated process may take before its time-out begins to count
ISOLATED_STOP_SECONDS: Final = 1.0  # how long an isolated process may go on after a cancel or its time-out
STOP_GRACE_SECONDS: Final = 10.0  # how long any other handler may, before its attempt is ended without it
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
