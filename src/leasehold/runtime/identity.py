"""Who this process is, and whether another one is certainly gone. Never guesses: where it cannot know, it says no."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from leasehold import clock
from leasehold.model.owner import Owner


def this_process() -> Owner:
    """Describe this process so that others can know when it is gone."""
    return Owner(socket.gethostname(), clock.boot_id(), _namespace(), os.getpid(), _birth(os.getpid()) or 0)


def is_gone(pid: int, birth: int) -> bool:
    """Whether the process that had this pid and start time is certainly gone; for the same boot and namespace only."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    state = _stat(pid)
    if state is None or birth == 0:
        return False
    return state[0] in ("Z", "X") or state[1] != birth


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _birth(pid: int) -> int | None:
    state = _stat(pid)
    return None if state is None else state[1]


def _stat(pid: int) -> tuple[str, int] | None:
    """Return a process's state letter and start time in clock ticks since boot."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return fields[0], int(fields[19])
    except (OSError, IndexError, ValueError):
        return None
