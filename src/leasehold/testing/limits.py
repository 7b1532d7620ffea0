"""Time-outs of what tests use."""

from typing import Final

SERVER_START_SECONDS: Final = 60.0
SERVER_POLL_SECONDS: Final = 0.05
