"""Time-outs and waits of the pipelines' run loop; each name has one meaning."""

from typing import Final

POLL_SECONDS: Final = 0.02  # at first: a small run is soon over
POLL_SECONDS_MAX: Final = 0.25
UNAVAILABLE_SECONDS: Final = 60  # workers wait for their database as well
