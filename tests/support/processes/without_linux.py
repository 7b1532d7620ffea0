"""Programs in a world without what Linux has and macOS has not, in all interpreters that they start too.

There is no /proc: in a mount namespace of the program's own an empty disk is mounted there. The functions of the
standard library that macOS lacks are removed as the interpreter starts (`sitecustomize`), and so is prctl.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.processes.fork_server import ROOT
from tests.support.processes.workers import WorkerProcess

SITECUSTOMIZE = """
import ctypes, os, resource, select, signal, socket, time

LACKING = {
    os: "O_DIRECT O_PATH O_TMPFILE copy_file_range eventfd fdatasync getrandom getresuid getxattr memfd_create"
        " pidfd_open pipe2 posix_fadvise posix_fallocate sched_getaffinity sched_setaffinity setresuid splice",
    resource: "prlimit",
    select: "epoll",
    signal: "sigtimedwait sigwaitinfo",
    socket: "SOCK_CLOEXEC SOCK_NONBLOCK SO_PEERCRED",
    time: "CLOCK_BOOTTIME",
}
for module, names in LACKING.items():
    for name in names.split():
        delattr(module, name)

class Library(ctypes.CDLL):
    def __getattr__(self, name):
        if name == "prctl":
            raise AttributeError(name)
        return super().__getattr__(name)

ctypes.CDLL = Library
"""
WITHOUT_PROC = ("unshare", "--mount", "--propagation", "private", "sh", "-c")
COVER = 'mount -t tmpfs none /proc && exec "$@"'


def program(folder: Path, *words: object) -> tuple[list[str], dict[str, str]]:
    """Return the command and environment that run Python so; `folder` gets what the interpreter reads first."""
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
    path = os.pathsep.join((str(folder), str(ROOT)))
    return [*WITHOUT_PROC, COVER, "sh", sys.executable, *map(str, words)], {"PYTHONPATH": path}


def run(folder: Path, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command, settings = program(folder, *words)
    known = os.environ | settings | environment
    return subprocess.run(command, cwd=ROOT, env=known, capture_output=True, text=True, timeout=300, check=False)


@contextlib.contextmanager
def start(folder: Path, log: Path, *words: object, **environment: str) -> Iterator[WorkerProcess]:
    """Run a program in the background until the block ends."""
    command, settings = program(folder, *words)
    with log.open("wb") as lines:
        process = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | settings | environment, stdout=lines, stderr=lines
        )
    worker = WorkerProcess(process, log)
    try:
        yield worker
    finally:
        if worker.running:
            worker.kill()
