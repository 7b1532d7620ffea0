"""Every limit, time-out and wait of the agents pipeline, in one place; each name has one meaning."""

from typing import Final

# The plan.
PLAN_BYTES_MAX: Final = 16 * 1024 * 1024
CHILDREN_MAX: Final = 10_000
ACTIVE_CHILDREN_MAX: Final = 2  # of the locked contract
INPUT_BYTES_MAX: Final = 1024 * 1024  # of one child's input, as JSON
ARGUMENTS_MAX: Final = 1_000
ARGUMENT_BYTES_MAX: Final = 64 * 1024  # the kernel refuses more than 128 KiB
VARIABLES_MAX: Final = 200
BUDGET_MAX: Final = 10**15
TIMEOUT_SECONDS_MAX: Final = 7 * 86_400
