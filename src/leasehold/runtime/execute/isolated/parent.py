"""The parent's side of an isolated handler: a child process in a session of its own, killed as a tree.

The child is started through a guard (`guard.py`) that ends everything below it when the handler ends, when the lease
is lost, or when this worker dies, however it dies. They exchange JSON lines, never pickle.
"""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from msgspec import json, structs

from leasehold import canonical, clock
from leasehold.errors import LeaseholdError
from leasehold.model.effect import Intent, Record
from leasehold.model.failure.failure import Failure
from leasehold.model.failure.loss import ChildCrash
from leasehold.model.lease import Settlement
from leasehold.model.machine import Move
from leasehold.model.tree.budget import Spend
from leasehold.model.tree.link import Link
from leasehold.redact import registered
from leasehold.runtime.attempt import Attempt, State
from leasehold.runtime.commit.requests import Item
from leasehold.runtime.ending import judge
from leasehold.runtime.limits import ISOLATED_POLL_SECONDS, ISOLATED_START_SECONDS, ISOLATED_STOP_SECONDS
from leasehold.runtime.observe.inherited import log_form
from leasehold.runtime.task import EngineChannel
from leasehold.shapes import Shape

GUARD: Final = str(Path(__file__).with_name("guard.py"))
ITEMS: Final[dict[str, Shape[Item]]] = {
    kind.__name__.lower(): Shape(kind) for kind in (Intent, Record, Move, Link, Spend)
}
_settlement: Final = Shape[Settlement](Settlement)


class Unloadable(Failure, frozen=True):
    """The child could not import the module of the handler, or did not find the handler there."""


End = Settlement | Failure | ChildCrash


def run(attempt: Attempt, channel: EngineChannel, url: str) -> Settlement | ChildCrash | None:
    """Run an attempt in a child process and return its end. Its transactions reach the database at `url`.

    None: a child cannot load the handler of a kind that is not isolated otherwise.
    """
    attempt.handler.check(canonical.decode(attempt.lease.payload))
    _limit(attempt, ISOLATED_START_SECONDS)
    with ExitStack() as ends:
        pairs = (socket.socketpair() for _ in range(2))
        life, guard_life, messages, guard_messages = (ends.enter_context(end) for pair in pairs for end in pair)
        theirs = (guard_life.fileno(), guard_messages.fileno())
        child = subprocess.Popen(
            [sys.executable, "-P", GUARD, *map(str, theirs)],
            stdin=subprocess.PIPE,
            pass_fds=theirs,
            start_new_session=True,
        )
        guard_life.close()
        guard_messages.close()
        attempt.stop = life.close  # the guard takes that as the order to end everything
        if attempt.state is State.LOST:  # while the child was being started
            life.close()
        try:
            _send(child, {"spec": {**_spec(attempt), "url": url, "secrets": registered()}})
            end = _serve(child, messages, attempt, channel, life.close)
            if isinstance(end, Unloadable) and not attempt.handler.isolated:
                return None
            return judge(attempt.lease, attempt.handler, end) if isinstance(end, Failure) else end
        finally:
            life.close()
            messages.close()
            child.communicate()


def _limit(attempt: Attempt, start_seconds: float = 0.0) -> None:
    """Have the time-out count from here, or from so long after here at the latest, while the process starts."""
    if attempt.handler.timeout is not None and attempt.interruption is None:
        attempt.limit_at = clock.uptime() + clock.microseconds(start_seconds + attempt.handler.timeout)


def _lines(messages: socket.socket) -> Iterator[bytes | None]:
    """Yield complete lines, None if none came in time. A buffered file would lose a part of a line at a time-out."""
    messages.settimeout(ISOLATED_POLL_SECONDS)
    rest, more = b"", b" "
    while more:
        try:
            more = messages.recv(65_536)
        except TimeoutError:
            yield None
        else:
            *lines, rest = (rest + more).split(b"\n")
            yield from lines


def _serve(
    child: subprocess.Popen[bytes],
    messages: socket.socket,
    attempt: Attempt,
    channel: EngineChannel,
    end_all: Callable[[], None],
) -> End:
    """Answer the child's requests until it sends its end or is gone. A cancelled one has a moment to stop by itself."""
    end_at, began = None, False
    for line in _lines(messages):
        if channel.cancelled and end_at is None:
            _send(child, {"cancelled": True})
            end_at = time.monotonic() + ISOLATED_STOP_SECONDS
        elif end_at is not None and time.monotonic() > end_at:
            end_all()
        if line is not None:
            message = json.decode(line)
            began = began or "called" in message
            if (end := _dispatch(child, message, attempt, channel)) is not None:
                return structs.replace(end, began=began) if isinstance(end, ChildCrash) else end
    return ChildCrash(began=began)


def _dispatch(
    child: subprocess.Popen[bytes], message: dict[str, Any], attempt: Attempt, channel: EngineChannel
) -> End | None:
    match message:
        case {"end": fields}:
            return _settlement.convert(fields)
        case {"failure": fields}:
            return Failure(**fields)
        case {"unloadable": fields}:
            return Unloadable(**fields)
        case {"exit": code, "memory_kb": memory}:
            return ChildCrash(code, memory)
        case {"called": _}:
            _limit(attempt)
        case {"progress": text}:
            channel.report_progress(text)
        case {"inputs": _}:
            _send(child, {"inputs": channel.inputs()})
        case {"enter": request}:
            _send(child, {"entered": {"number": request.pop("number"), **_enter(request, channel)}})
    return None


def _enter(request: dict[str, Any], channel: EngineChannel) -> dict[str, Any]:
    [(name, fields)] = request.items()
    try:
        return {"entry": channel.hand_over(ITEMS[name].convert(fields))()}
    except LeaseholdError as error:
        return {"code": error.code, "detail": error.detail}


def _send(child: subprocess.Popen[bytes], message: dict[str, Any]) -> bool:
    try:
        assert child.stdin is not None
        child.stdin.write(json.encode(message) + b"\n")
        child.stdin.flush()
    except BrokenPipeError:
        return False
    return True


def _spec(attempt: Attempt) -> dict[str, Any]:
    function, main = attempt.handler.function, sys.modules["__main__"]
    module, path = function.__module__, None
    if module == "__main__":
        spec = getattr(main, "__spec__", None)
        module, path = (module, getattr(main, "__file__", None)) if spec is None else (spec.name, None)
    return {
        "lease": attempt.lease,
        "module": module,
        "path": path,
        "name": function.__qualname__,
        "arounds": sorted({around.__module__ for around in attempt.handler.arounds} - {"__main__"}),
        "sys_path": sys.path,
        "argv": sys.argv,
        "logs": log_form(),
    }
