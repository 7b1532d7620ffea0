"""A worker process that leaves when the one that has started it is gone, however that came about."""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
from contextlib import suppress


def _watch() -> None:
    """Wait for the end of standard input, which its owner never writes to, and closes by dying."""
    with suppress(OSError):
        while os.read(sys.stdin.fileno(), 1):
            pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Run `leasehold` with the words given."""
    threading.Thread(target=_watch, name="leasehold-hand", daemon=True).start()
    runpy.run_module("leasehold", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
