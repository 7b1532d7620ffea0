"""Time-outs and waits of the modules that belong to no package; each name has one meaning."""

from typing import Final

# A receiver that asks for more than a day is asked again after one: it may have meant something else.
RETRY_AFTER_SECONDS_MAX: Final = 24 * 3600.0

# The worker processes of a command.
GRACE_SECONDS: Final = 5  # that a worker gives its handlers once it has been asked to stop
KILL_SECONDS: Final = GRACE_SECONDS + 5  # until a worker that has not ended is killed
STOP_POLL_SECONDS: Final = 0.25  # between two looks at whether a signal came
EXIT_POLL_SECONDS: Final = 0.005  # between two looks at whether a worker has ended
