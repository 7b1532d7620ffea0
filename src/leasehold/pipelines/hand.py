"""A worker process that leaves when the one that has started it is gone, however that came about."""

from __future__ import annotations

import asyncio
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


def take_fast_loop() -> None:
    """Have this process's loops made by uvloop, if it is installed: many small files take less time."""
    with suppress(ImportError):
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())


def main() -> None:
    """Run `leasehold` with the words given."""
    take_fast_loop()
    threading.Thread(target=_watch, name="leasehold-hand", daemon=True).start()
    runpy.run_module("leasehold", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
