"""Waits of the run lock that its runbook does not name; `constants` has the others."""

from typing import Final

GUARD_PAUSE_SECONDS: Final = 0.001  # before the guard is tried a second time
HOLD_SECONDS_MAX: Final = 30 * 86_400.0  # that the command can be asked to hold a lock
