"""Ends whole process trees. Run as a script it starts commands, each under a guard that nothing below it outlives.

The script has one argument, a socket. Each byte on it comes with descriptors: a file with the command as JSON, the
command's standard input, output and error, `life`, `report`. For each the script forks a guard, in a millisecond where
a new interpreter takes twenty. One byte on `life` asks the tree to end: SIGTERM, the grace, then SIGKILL. `life`
closed, as when the process at its other end dies, ends it at once. The guard reports `guard PID`, `failed ERRNO` if
the command cannot be started, and `exit CODE KILOBYTES` when everything below is gone.

As a subreaper a guard inherits every process that is orphaned below it, so none escapes by leaving its session. What a
guard that was killed leaves behind is inherited, and killed, by the script. It must never start a thread.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
ASKED_TO_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
POLL_MILLISECONDS = 200
GRACE_POLL_MILLISECONDS = 10
REAP_PAUSE = 0.002
DESCRIPTORS = 6
CANNOT_EXECUTE = 127
LIBC = ctypes.CDLL(None)  # loaded once: guards and commands are forks of this process


def main() -> None:
    leave_signals_to_the_parent()
    adopt_orphans()
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        GuardServer(requests).serve()


class GuardServer:
    """Forks a guard for each request, until the other end of the socket is closed."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._guards: set[int] = set()

    def serve(self) -> None:
        poll = select.poll()
        poll.register(self._requests, select.POLLIN)
        while True:
            # Guards that ended are collected now and then: nobody waits for that.
            if poll.poll(POLL_MILLISECONDS if self._guards else None):
                request, descriptors, *_ = socket.recv_fds(self._requests, 1, DESCRIPTORS)
                if not request:
                    return
                self._start(descriptors)
            self._reap()

    def _start(self, descriptors: list[int]) -> None:
        guard = os.fork()
        if guard == 0:
            self._requests.close()
            run_guard(*descriptors)
        self._guards.add(guard)
        for descriptor in descriptors:
            os.close(descriptor)

    def _reap(self) -> None:
        """Collect guards that ended. One that was killed leaves processes behind, which are now children of this."""
        was_killed = False
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                was_killed |= found[0] in self._guards and found[1] != 0
                self._guards.discard(found[0])
        while was_killed and (orphans := children_of(os.getpid()) - self._guards):
            for orphan in orphans:
                send_all({orphan} | descendants(orphan), signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(orphan, os.WNOHANG)
            time.sleep(REAP_PAUSE)


def run_guard(order: int, stdin: int, stdout: int, stderr: int, life: int, report: int) -> NoReturn:
    """Be the guard of one command."""
    try:
        for descriptor in (stdin, stdout, stderr, life, report):  # received, so the command would inherit them
            os.set_inheritable(descriptor, False)  # noqa: FBT003 — the standard library has it by position
        with os.fdopen(order, "rb") as file:
            command = json.load(file)
        write(report, f"guard {os.getpid()}\n")
        os.setsid()
        adopt_orphans()
        # A SIGTERM that comes before the command has a handler for it must wait, not be ignored as it is here.
        signal.pthread_sigmask(signal.SIG_BLOCK, ASKED_TO_END)
        child = os.fork()
        if child == 0:
            run_command(command, (stdin, stdout, stderr), report)
        for descriptor in (stdin, stdout, stderr):
            os.close(descriptor)
        tree = ProcessTree(child)
        tree.watch(life, command["grace"])
        tree.kill()
        if tree.end is not None:
            write(report, f"exit {tree.end.code} {tree.end.memory_kb}\n")
    finally:
        os._exit(0)


def run_command(command: dict[str, Any], streams: tuple[int, int, int], report: int) -> NoReturn:
    """Be the command: with the signals, the session and the group that a new process expects."""
    try:
        die_with_parent()
        offer_to_oom_killer()
        os.setsid()
        for number in (*ASKED_TO_END, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
        os.chdir(command["folder"])
        os.execvpe(command["argv"][0], command["argv"], command["environment"])  # noqa: S606 — no shell is wanted
    except OSError as error:
        write(report, f"failed {error.errno}\n")
    finally:
        os._exit(CANNOT_EXECUTE)


def write(descriptor: int, line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(descriptor, line.encode("ascii"))


def control(option: int, value: int) -> None:
    """Set an option of this process, where the kernel has it."""
    with contextlib.suppress(OSError, AttributeError):
        LIBC.prctl(option, value, 0, 0, 0)


def adopt_orphans() -> None:
    control(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    control(PR_SET_PDEATHSIG, signal.SIGKILL)


def offer_to_oom_killer() -> None:
    """Have the kernel take this process before its parent, should memory run out."""
    with contextlib.suppress(OSError):
        # Not with pathlib: it would add a millisecond to each start.
        score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(score, b"500")
        os.close(score)


def leave_signals_to_the_parent() -> None:
    """Ignore requests to end: a service manager asks every process of a service at once, and the parent decides."""
    for number in ASKED_TO_END:
        signal.signal(number, signal.SIG_IGN)


class ProcessEnd:
    """An exit code, negative for a signal, and the most memory that was in use."""

    def __init__(self, code: int, memory_kb: int) -> None:
        self.code = code
        self.memory_kb = memory_kb


class ProcessTree:
    """Everything below this process, of which one child matters most."""

    def __init__(self, child: int) -> None:
        self.child = child
        self.end: ProcessEnd | None = None

    def watch(self, life: int, grace: float = 0) -> None:
        """Return when the rest is to be killed: at the child's end, at the end of the grace, or when `life` is closed.

        After a request to end, the whole tree has the grace, even if the child itself is gone.
        """
        poll = select.poll()
        poll.register(life, select.POLLIN)
        # The wait ends with the child at once where the kernel offers that; elsewhere the next poll finds it.
        with contextlib.suppress(OSError, AttributeError):
            poll.register(os.pidfd_open(self.child), select.POLLIN)
        deadline = None
        while not self._is_over(deadline):
            waited = POLL_MILLISECONDS if deadline is None else GRACE_POLL_MILLISECONDS
            if any(found == life for found, _ in poll.poll(waited)):
                if not os.read(life, 16):
                    return
                deadline = deadline or time.monotonic() + grace
                self._terminate()

    def kill(self) -> None:
        """Kill every process below this one, until none is left.

        A process that was made meanwhile is found by the next pass; nothing waits for a process that was not killed.
        """
        while self._reap():
            send_all(self._below(), signal.SIGKILL)
            time.sleep(REAP_PAUSE)

    def _below(self) -> set[int]:
        """Return every process below this one; where there is no /proc, the child is all that is known."""
        return descendants(os.getpid()) | ({self.child} if self.end is None else set())

    def _is_over(self, deadline: float | None) -> bool:
        is_inhabited = self._reap()
        if deadline is None:
            return self.end is not None
        return not is_inhabited or time.monotonic() >= deadline

    def _reap(self) -> bool:
        """Collect every process that has ended, also adopted ones; return whether any is left below this one.

        A process below always has a living parent below, or this one: orphans are adopted. So no children: nobody.
        """
        try:
            while (found := os.wait4(-1, os.WNOHANG))[0]:
                if found[0] == self.child:
                    self.end = ProcessEnd(os.waitstatus_to_exitcode(found[1]), found[2].ru_maxrss)
        except ChildProcessError:
            return False
        return True

    def _terminate(self) -> None:
        for number in (signal.SIGTERM, signal.SIGCONT):  # what is stopped would not notice the first alone
            send_all(self._below(), number)


def send_all(processes: set[int], number: int) -> None:
    for pid in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def descendants(root: int) -> set[int]:
    """Return every process below one, zombies too."""
    children = _children()
    found: set[int] = set()
    todo = list(children.get(root, []))
    while todo:
        pid = todo.pop()
        found.add(pid)
        todo.extend(children.get(pid, []))
    return found


def children_of(root: int) -> set[int]:
    return set(_children().get(root, []))


def _children() -> dict[int, list[int]]:
    """Return the children of every process, from /proc. A program's name may contain anything, also `) 1 (`."""
    found: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            parent = stat.read_bytes().rpartition(b")")[2].split()[1]
            found.setdefault(int(parent), []).append(int(stat.parent.name))
    return found


if __name__ == "__main__":
    main()
