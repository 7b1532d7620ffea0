"""Time-outs and waits of the command line; each name has one meaning."""

from typing import Final

FOLLOW_SECONDS: Final = 0.25  # between two looks at a journal that is followed

# The tour.
TOUR_POLL_SECONDS: Final = 0.1
TOUR_KILL_SECONDS: Final = 1.0  # between two kills
TOUR_STUCK_SECONDS: Final = 60.0  # without any progress, after which it is given up
TOUR_LINE_SECONDS: Final = 1.0  # between two lines where there is no terminal
