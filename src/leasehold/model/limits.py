"""Every limit that is not about one JSON value, named, in one place."""

from typing import Final

NAME_PATTERN: Final = r"^[a-z][a-z0-9_.-]{0,62}\Z"
EFFECT_PATTERN: Final = r"^[A-Za-z][A-Za-z0-9_.-]{0,62}\Z"
STATE_PATTERN: Final = r"^[A-Za-z][A-Za-z0-9_.-]{0,62}\Z"
BRANCH_PATTERN: Final = r"^[A-Za-z0-9\[][A-Za-z0-9_.:\[\]-]{0,199}\Z"
KEY_LENGTH_MAX: Final = 512
PRIORITY_MIN: Final = -32_768
PRIORITY_MAX: Final = 32_767
ATTEMPTS_MAX: Final = 1_000
LOSSES: Final = 20
LOSSES_MAX: Final = 1_000
LOSS_DELAY_SECONDS: Final = 0.5
LOSS_DELAY_SECONDS_MAX: Final = 60.0
LOSS_OTHERS_MAX: Final = 20
SUSPECTS_MAX: Final = 8
LEASE_SECONDS_MIN: Final = 0.1
LEASE_SECONDS_MAX: Final = 24 * 3600.0
LEASE_SECONDS: Final = 30.0
DELAY_SECONDS_MAX: Final = 366 * 24 * 3600.0
TIMEOUT_SECONDS_MIN: Final = 0.01
EFFECT_FIELDS_BYTES_MAX: Final = 64 * 1024
EFFECTS_MAX: Final = 10_000
SEGMENTS_MAX: Final = 10_000
STAGES_MAX: Final = 500
ARROWS_MAX: Final = 1_000
INPUT_BYTES_MAX: Final = 64 * 1024 * 1024
SUBJECT_LENGTH_MAX: Final = 512
RECIPIENT_LENGTH_MAX: Final = 320
DELIVERY_KEY_BYTES_MAX: Final = 2_000
DELIVERIES_MAX: Final = 1_000
DELIVERIES_BYTES_MAX: Final = 8 * 1024 * 1024
NOTIFICATION_ID_LENGTH_MAX: Final = 64 * 1024
VERSION_MAX: Final = 2**31 - 1
PAGE_MAX: Final = 1_000
WORKERS_MAX: Final = 10_000
CONCURRENCY_MAX: Final = 10_000
QUEUE_LIMIT_MAX: Final = 10_000
BRANCHES_LOOK_MAX: Final = 500
RATE_MAX: Final = 1_000_000.0

CLAIM_MAX: Final = 1_000
GROUP_MAX: Final = 1_000
GROUP_BYTES_MAX: Final = 8 * 1024 * 1024
RENEW_MAX: Final = 10_000
SUBMIT_MAX: Final = 2_000
SWEEP_MAX: Final = 1_000
ADVANCE_MAX: Final = 500

# How long a process may be silent inside a transaction that runs a user's act or reads a whole job. Others have 2 s.
IDLE_MS_MAX: Final = 120_000

MESSAGE_LENGTH_MAX: Final = 4_000
STACK_LENGTH_MAX: Final = 16_000
REASON_LENGTH_MAX: Final = 500
EVIDENCE_LENGTH_MAX: Final = 2_000
TICKET_LENGTH_MAX: Final = 200
PROGRESS_BYTES_MAX: Final = 4_096
