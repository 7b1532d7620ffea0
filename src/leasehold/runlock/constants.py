"""The run lock's constants, under the names of its runbook. They are checked when they are loaded."""

from typing import Final

from leasehold.errors import OptionInvalid

LOCK_FILE_NAME: Final = "RUNNING.lock"
GUARD_FILE_NAME: Final = "RUNNING.guard"
NONCE_FILE_NAME: Final = "RUNNING.nonce"

LOCK_HEARTBEAT_WRITE_INTERVAL_SECONDS: Final = 10
LOCK_STALE_TTL_SECONDS: Final = 120
LOCK_STALE_RETRY_BASE_SLEEP_SECONDS: Final = 0.05
# A heartbeat further ahead than this is nobody's: else a clock that was wrong once would lock a run for years.
LOCK_FUTURE_MAX_SECONDS: Final = 300

# No change takes longer than some milliseconds; who waits longer waits for a process that was stopped.
GUARD_WAIT_SECONDS: Final = 10.0
LOCK_BYTES_MAX: Final = 8_192
RUN_ID_CHARACTERS_MAX: Final = 255
ARCHIVES_MAX: Final = 10_000
PASSES_MAX: Final = 20

EXIT_OK: Final = 0
EXIT_ACTIVE_LOCK: Final = 2
EXIT_INVALID_LOCK: Final = 3
EXIT_LOCK_RACE: Final = 4


def check_constants(interval_seconds: float, ttl_seconds: float) -> None:
    """Refuse a time to live in which a holder could not miss one heartbeat."""
    if not ttl_seconds > 2 * interval_seconds:
        raise OptionInvalid(
            "LOCK_STALE_TTL_SECONDS must be greater than 2 * LOCK_HEARTBEAT_WRITE_INTERVAL_SECONDS;"
            f" got {ttl_seconds} and {interval_seconds}."
        )


check_constants(LOCK_HEARTBEAT_WRITE_INTERVAL_SECONDS, LOCK_STALE_TTL_SECONDS)
