"""Starts a process that does upkeep alone; it imports no handlers."""

import os
from contextlib import closing

from leasehold.runtime.run import orchestrate
from leasehold.store import open_store

if __name__ == "__main__":
    with closing(open_store(os.environ["LEASEHOLD_URL"])) as store:
        orchestrate(store)
