"""The guard of an isolated handler: forks the child that runs it, and ends everything below when it is time.

Run as a script with two descriptors: `life` (its other end closed means: end everything) and `output` (to the
worker). Uses the standard library alone and forks before any thread exists. As a subreaper it also inherits
processes that the handler's programs orphaned or moved to sessions of their own, so none escapes.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import select
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
ASKED_TO_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
POLL_SECONDS = 0.2
REAP_SECONDS = 0.002


def main() -> None:
    life, output = int(sys.argv[1]), int(sys.argv[2])
    control(PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        control(PR_SET_PDEATHSIG, signal.SIGKILL)
        offer_to_oom_killer()
        os.close(life)
        from leasehold.runtime.execute.isolated.child import main as run_child

        run_child(output)
        return
    for number in ASKED_TO_END:  # a service manager asks every process of a service at once; the worker decides here
        signal.signal(number, signal.SIG_IGN)
    os.close(0)
    end = watch(child, life)
    if end is not None:
        with contextlib.suppress(OSError):
            os.write(output, json.dumps({"exit": end[0], "memory_kb": end[1]}).encode() + b"\n")
    os.close(output)
    end_all()


def control(option: int, value: int) -> None:
    """Set an option of this process, where the kernel has it."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def offer_to_oom_killer() -> None:
    """Have the kernel take this process before the worker, should memory run out."""
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")


def watch(child: int, life: int) -> tuple[int, int] | None:
    """Wait for the child's end and return its code and its memory at most, or for the order to end everything."""
    poll = select.poll()
    poll.register(life, select.POLLIN)
    while True:
        if poll.poll(POLL_SECONDS * 1000):
            return None
        found, status, usage = os.wait4(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status), usage.ru_maxrss


def end_all() -> None:
    """Kill every process below, until none is left, then this one's group.

    A process that was made meanwhile is found by the next pass; nothing here waits for a process that was not killed.
    """
    while below := descendants(os.getpid()):
        for pid in below:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(REAP_SECONDS)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def descendants(root: int) -> set[int]:
    parents: dict[int, list[int]] = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found: set[int] = set()
    todo = list(parents.get(root, []))
    while todo:
        pid = todo.pop()
        found.add(pid)
        todo.extend(parents.get(pid, []))
    return found


if __name__ == "__main__":
    main()
