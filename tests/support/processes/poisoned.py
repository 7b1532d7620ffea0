"""A worker of the app with jobs that kill it. `dying`: it dies by itself, a moment after it has begun something."""

import logging
import os
import signal
import sys
import threading

from tests.support.apps.app import FOLDER
from tests.support.apps.poison import app
from tests.support.wait import until


def die_soon() -> None:
    """End this process once a handler of this life has begun."""
    before = _lines()
    until(lambda: _lines() > before)
    os.kill(os.getpid(), signal.SIGKILL)


def _lines() -> int:
    path = FOLDER / "journal"
    return len(path.read_text().splitlines()) if path.exists() else 0


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    if "dying" in sys.argv:
        threading.Thread(target=die_soon, daemon=True).start()
    app.work(concurrency=int(sys.argv[1]), grace=5)
