"""Time-outs and waits of the providers; each name has one meaning."""

from typing import Final

TIMEOUT_SECONDS_MAX: Final = 600.0  # of one delivery
REPAIR_SECONDS: Final = 300.0  # until what an operator has to repair is tried again
QUIT_SECONDS: Final = 2.0  # for a mail server to answer QUIT
