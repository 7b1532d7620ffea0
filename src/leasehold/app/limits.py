"""Time-outs and limits of the app; each name has one meaning."""

from typing import Final

DEFINITION_SECONDS: Final = 5.0  # that a kind's definition is used before it is read again
PRUNE_AGE_SECONDS_MAX: Final = 100 * 366 * 24 * 3600.0
