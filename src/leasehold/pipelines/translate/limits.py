"""Every time-out and wait of the translation pipeline, in one place; each name has one meaning."""

from typing import Final

LEASE_SECONDS: Final = 120.0  # of a worker
ROUND_SECONDS: Final = 60.0  # of a person's decision, which runs in this process or in a worker
PROJECT_SECONDS: Final = 10.0  # between two writings of the files while workers run
APERTIUM_SECONDS: Final = 60.0  # for the answer to one text
