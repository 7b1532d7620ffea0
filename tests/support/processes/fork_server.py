"""Programs of the tests, started quickly: forked from a process that has read their modules, which is most of a start.

`Nestling` is `subprocess.Popen` and `run` is `subprocess.run`, with the same words. A program is a process of its own
either way: with its number, its streams, its environment and folder, and it can be killed. What the cradle cannot do as
a new interpreter would is started as a new interpreter: other programs, options of the interpreter, whatever variable
an interpreter reads when it starts, other users, limits, more than three streams. All are, if the environment has
LEASEHOLD_TEST_STARTS=real.

Two things differ, so a test of them starts its programs with `subprocess`: what has been read before (how long a start
takes, what it reads, whether a module does without another), and the order of sets, which is the same in all that one
cradle has forked.
"""

from __future__ import annotations

import atexit
import inspect
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.support.processes import fork_child

ROOT: Final = Path(__file__).parents[3]
STARTS_NAME: Final = "LEASEHOLD_TEST_STARTS"
PATHS_NAME: Final = "PYTHONPATH"
# What an interpreter, or a module that the cradle has read, looks at when it starts and not again.
READ_AT_START: Final = (
    *("COVERAGE_", "FAKETIME", "FTLANG_", "GLIBC_", "LANG", "LC_", "LD_", "MALLOC_", "PSYCOPG_", "PYTHON"),
    *("TEMP", "TMP"),
)
# What a new interpreter has to be started for, unless it has just this value.
PLAIN: Final[dict[str, Any]] = {
    "executable": None,
    "preexec_fn": None,
    "close_fds": True,
    "pass_fds": (),
    "shell": False,
    "gid": None,
    "gids": None,
    "uid": None,
    "umask": -1,
    "process_group": -1,
}


class Nursery:
    """The cradle of this process: it is asked for one thing at a time."""

    def __init__(self) -> None:
        self.environment = dict(os.environ)
        self._owner_pid = os.getpid()
        self._turn = threading.Lock()
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            words = [sys.executable, fork_child.__file__, str(theirs.fileno()), str(os.getpid())]
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        atexit.register(self.close)

    @property
    def is_ours(self) -> bool:
        """Whether it is of this process, not of one that has forked this one, and still there."""
        return self._owner_pid == os.getpid() and self._line.fileno() != -1 and self.process.poll() is None

    def fork(self, order: bytes, streams: Sequence[int]) -> int:
        """Begin a process, and return its number."""
        number: int = self._ask(order, streams)
        return number

    def ending_of(self, child: int) -> int | None:
        """Return the status that a child has ended with; None while it runs."""
        status: int | None = self._ask(json.dumps({"ended": child}).encode())
        return status

    def _ask(self, order: bytes, streams: Sequence[int] = ()) -> Any:
        with self._turn:
            socket.send_fds(self._line, [order], streams)
            if not (answer := self._line.recv(fork_child.ORDER_BYTES_MAX)):
                raise ChildProcessError("the cradle is gone, and every process that it has forked")
            return json.loads(answer)

    def close(self) -> None:
        """Kill what is left in the cradle, and the fork_child."""
        if self._owner_pid == os.getpid():
            self._line.close()
            self.process.wait(timeout=60)


class Nestling(subprocess.Popen):
    """A program, forked if that is the same as a start."""

    _nursery: Nursery | None = None
    _waitpid_lock: threading.Lock

    @property
    def is_forked(self) -> bool:
        return self._nursery is not None

    def _execute_child(self, *given: Any) -> None:
        asked = inspect.signature(subprocess.Popen._execute_child).bind(self, *given).arguments  # type: ignore[attr-defined]  # noqa: SLF001
        words = [os.fsdecode(word) for word in asked["args"]] if isinstance(asked["args"], list | tuple) else []
        environment = dict(os.environ if asked["env"] is None else asked["env"])
        if not is_plain(asked, words, environment):
            super()._execute_child(*given)  # type: ignore[misc]
            return
        order = {
            "words": words[1:],
            "environment": environment,
            "folder": os.fsdecode(asked["cwd"] or Path.cwd()),
            "is_leader": asked["start_new_session"],
        }
        pipes = [asked[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")]
        streams = [number if pipe == -1 else pipe for number, pipe in enumerate((pipes[0], pipes[3], pipes[5]))]
        self._nursery = nursery()
        self.pid = self._nursery.fork(json.dumps(order).encode(), streams)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _internal_poll(self, _deadstate: int | None = None, *given: Any) -> int | None:
        if self._nursery is None:
            super()._internal_poll(_deadstate, *given)  # type: ignore[misc]
        elif self.returncode is None and self._waitpid_lock.acquire(blocking=False):  # else another thread waits
            try:
                self._ask_ending(_deadstate)
            finally:
                self._waitpid_lock.release()
        code: int | None = self.returncode
        return code

    def _ask_ending(self, deadstate: int | None) -> None:
        try:
            ended, status = self._try_wait(os.WNOHANG)
        except OSError:
            if deadstate is None:
                raise
            self.returncode = deadstate
        else:
            self.returncode = os.waitstatus_to_exitcode(status) if ended else None

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._nursery is None:
            ended: tuple[int, int] = super()._try_wait(wait_flags)  # type: ignore[misc]
            return ended
        if not wait_flags & os.WNOHANG:
            await_end(self.pid)
        status = self._nursery.ending_of(self.pid)
        return (0, 0) if status is None else (self.pid, status)


def run(
    words: Sequence[str], *, check: bool = False, capture_output: bool = False, timeout: float | None = None, **how: Any
) -> subprocess.CompletedProcess[Any]:
    """Run a program to its end; one that takes too long is killed."""
    if capture_output:
        how |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Nestling(words, **how) as process:
        try:
            out, said = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(words, process.returncode, out, said)
    if check:
        done.check_returncode()
    return done


def await_end(pid: int) -> None:
    """Wait for the end of a process that has not been asked for its end."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        eyes = select.poll()
        eyes.register(descriptor, select.POLLIN)
        eyes.poll()
    finally:
        os.close(descriptor)


_lock = threading.Lock()
_nurseries: list[Nursery] = []


def nursery() -> Nursery:
    """Return the nursery of this process, which is made when the first program is started."""
    with _lock:
        if not _nurseries or not _nurseries[-1].is_ours:
            _nurseries.append(Nursery())
        return _nurseries[-1]


def is_plain(asked: Mapping[str, Any], words: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Tell whether a program is the same, forked or started."""
    return (
        os.environ.get(STARTS_NAME) != "real"
        and all(asked.get(name, value) == value for name, value in PLAIN.items())
        and is_program(words)
        and Path(os.fsdecode(asked["cwd"] or ".")).is_dir()
        and is_known(environment, nursery().environment)
        and len(json.dumps([words, environment])) < fork_child.ORDER_BYTES_MAX - 8192
    )


def is_program(words: Sequence[str]) -> bool:
    """Tell whether these words are this interpreter, without options, and a program for it."""
    match [*words]:
        case [sys.executable, "-m" | "-c", _, *_]:
            return True
        case [sys.executable, script, *_]:
            return script.endswith(".py") and not script.startswith("-")
    return False


def is_known(environment: Mapping[str, str], before: Mapping[str, str]) -> bool:
    """Tell whether an interpreter would start alike in both; that one finds the tests is no difference."""
    names = {name for name in {**environment, **before} if name.startswith(READ_AT_START)}
    changed = {name for name in names if environment.get(name) != before.get(name)}
    paths = {known.get(PATHS_NAME, "") for known in (environment, before)}
    return not changed or (changed == {PATHS_NAME} and paths == {"", str(ROOT)})
