"""Kills a change of a run lock at each of its calls of the file system, once each, in a folder of its own each time.

    python -m tests.runlock.kill_at_each_call STRACE CHANGE FOLDER

A child is forked, stops, gets strace as its tracer, and goes on; strace kills it when it enters the call. What was
done is written to FOLDER/kills.json: for each folder the call, how many calls came before it, and how the child ended.
"""

import ctypes
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from leasehold.runlock import RunLock, acquire, heartbeat, release
from tests.runlock.lock_files import at, write_lock
from tests.support.wait import until

CALL = re.compile(r"^([a-z0-9_]+)\(", re.MULTILINE)
MEMORY = {"mmap"}  # Python's own, however it sees fit
PR_SET_PTRACER, PR_SET_PTRACER_ANY = 0x59616D61, ctypes.c_ulong(-1)
STALE_SECONDS = -1_000


def adopted(lock: RunLock) -> RunLock:
    """Return the lock of the parent as if the child had acquired it."""
    return dataclasses.replace(lock, payload=dataclasses.replace(lock.payload, pid=os.getpid()))


def prepare(change: str, run_dir: Path) -> Callable[[], object]:
    """Return a change of a lock in a folder where it can be made."""
    if change == "acquire":
        return lambda: acquire(run_dir, "victim", now=at())
    if change == "takeover":
        write_lock(run_dir, STALE_SECONDS)
        return lambda: acquire(run_dir, "victim", now=at(), audit=lambda line: None)
    lock = acquire(run_dir, "victim", now=at())
    if change == "heartbeat":
        return lambda: heartbeat(adopted(lock), now=at(10))
    assert change == "release"
    return lambda: release(adopted(lock))


def child(act: Callable[[], object]) -> int:
    pid = os.fork()
    if pid:
        os.waitpid(pid, os.WUNTRACED)
        return pid
    code = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0)  # strace is no ancestor of this process
        os.kill(os.getpid(), signal.SIGSTOP)
        act()
        code = 0
    finally:
        os._exit(code)


def traced(strace: str, act: Callable[[], object], log: Path, *words: str) -> tuple[int, list[str]]:
    """Run `act` under strace; return how it ended and the calls it entered."""
    pid = child(act)
    command = [strace, "-qq", "-o", str(log), "-e", "trace=%file,%desc", *words, "-p", str(pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        until(lambda: is_traced(pid) or tracer.poll() is not None)
        if tracer.poll() is not None:
            os.kill(pid, signal.SIGKILL)
            raise SystemExit(f"strace cannot trace here: {tracer.communicate()[1]}")
        os.kill(pid, signal.SIGCONT)
        tracer.wait()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status, [name for name in CALL.findall(log.read_text()) if name not in MEMORY]


def is_traced(pid: int) -> bool:
    return re.search(r"^TracerPid:\t0$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE) is None


def main() -> int:
    strace, change, root = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    log = root / "log"
    status, whole = traced(strace, prepare(change, root / "whole"), log)
    assert status == 0, log.read_text()
    kills = []
    for name, count in Counter(whole).items():
        for number in range(1, count + 1):
            folder = root / f"{name}-{number}"
            inject = f"inject={name}:signal=KILL:when={number}"
            status, calls = traced(strace, prepare(change, folder), log, "-e", inject)
            kills.append({"folder": folder.name, "before": len(calls) - 1, "status": status})
    (root / "kills.json").write_text(json.dumps({"whole": whole, "kills": kills}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
