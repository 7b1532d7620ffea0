"""The command of the runbook: acquire a run's lock, hold it for a while with heartbeats, release it.

It exits with 0, 2, 3 or 4 as the runbook has it; 64 for a wrong command line, since 2 means an active lock; 128 + n
when a signal ended it, after the release.
"""

import argparse
import math
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, NoReturn

from leasehold import clock
from leasehold.errors import OptionInvalid
from leasehold.runlock.constants import EXIT_OK, LOCK_HEARTBEAT_WRITE_INTERVAL_SECONDS
from leasehold.runlock.errors import LockFailed, RunLockError
from leasehold.runlock.limits import HOLD_SECONDS_MAX
from leasehold.runlock.lock import acquire, heartbeat, release
from leasehold.runlock.payload import check_run_id, shown

EXIT_USAGE: Final = 64
EXIT_READER_GONE: Final = 141
SIGNALLED: Final = 128
STOPS: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """End as wrong command lines do: argparse's own 2 means an active lock here."""
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {shown(message)}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="translation_toolchain.py", description="Hold the lock of a run: RUNNING.lock in its folder.")
    parser.add_argument("--run-dir", type=Path, required=True, help="the run's folder, runs/<run_id>")
    parser.add_argument("--run-id", type=_run_id, required=True, help="the run's name, written into the lock")
    parser.add_argument("--hold-seconds", type=_seconds, default=0.0, help="how long to hold the lock (default: 0)")
    return parser


def _run_id(text: str) -> str:
    try:
        return check_run_id(text)
    except OptionInvalid as error:
        raise argparse.ArgumentTypeError(error.detail) from None


def _seconds(text: str) -> float:
    seconds = float(text)
    if math.isfinite(seconds) and 0 <= seconds <= HOLD_SECONDS_MAX:
        return seconds
    raise argparse.ArgumentTypeError(f"from 0 to {HOLD_SECONDS_MAX:.0f} seconds")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    # A signal is taken where the lock is held and nothing is half done, not wherever it happens to arrive.
    stops = {one for one in STOPS if signal.getsignal(one) is not signal.SIG_IGN}  # as nohup or a shell may set it
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        return _run(options.run_dir, options.run_id, options.hold_seconds, stops)
    except RunLockError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains while it exits
        return EXIT_READER_GONE


def _run(run_dir: Path, run_id: str, hold_seconds: float, stops: set[signal.Signals]) -> int:
    signals = _signal_queue(stops)
    lock = acquire(run_dir, run_id)
    deadline = clock.uptime() + clock.microseconds(hold_seconds)
    try:
        _print(f"Acquired lock: {shown(lock.path)}")
        while not (number := _next_signal(signals, deadline)) and clock.uptime() < deadline:
            lock = heartbeat(lock)
            _print(f"Heartbeat written at {lock.payload.last_heartbeat_at}")
    except (LockFailed, BrokenPipeError):
        release(lock)  # the lock is still ours; only the output failed
        raise
    release(lock)
    _print(f"Released lock: {shown(lock.path)}")
    return SIGNALLED + number if number else EXIT_OK


def _signal_queue(stops: set[signal.Signals]) -> SimpleQueue[int]:
    """Return a queue that receives the number of the first signal.

    `sigtimedwait` makes up a signal if the process is stopped and goes on after the time is over (Python 3.11).
    """
    signals: SimpleQueue[int] = SimpleQueue()
    threading.Thread(target=lambda: signals.put(signal.sigwait(stops)), name="leasehold-signals", daemon=True).start()
    return signals


def _next_signal(signals: SimpleQueue[int], deadline: int) -> int:
    """Wait for a signal until the next heartbeat or the deadline; return its number, or 0 if none came."""
    moment = min(clock.uptime() + clock.microseconds(LOCK_HEARTBEAT_WRITE_INTERVAL_SECONDS), deadline)
    while True:
        left = moment - clock.uptime()
        with suppress(Empty):
            return signals.get(timeout=max(0, left) / clock.SECOND)
        if left <= 0:
            return 0


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
