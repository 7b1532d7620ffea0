"""Who this process is, and whether another one is certainly gone. Never guesses: in doubt the answer is no."""

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final

from leasehold import clock
from leasehold.model.owner import Owner

STAT_BYTES_MAX: Final = 4_096  # one line: 52 numbers and a name of at most 64 bytes


def this_process() -> Owner:
    """Describe this process so that others can know when it is gone."""
    namespace = ""
    with suppress(OSError):
        namespace = str(Path("/proc/self/ns/pid").readlink())
    _, birth = _stat(os.getpid()) or ("", 0)
    return Owner(socket.gethostname(), clock.boot_id(), namespace, os.getpid(), birth)


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


def _stat(pid: int) -> tuple[str, int] | None:
    """Return a process's state letter and start time in clock ticks since boot."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            fields = os.read(descriptor, STAT_BYTES_MAX).rpartition(b")")[2].split()
        finally:
            os.close(descriptor)
        return fields[0].decode("ascii"), int(fields[19])
    except (OSError, IndexError, ValueError):
        return None
