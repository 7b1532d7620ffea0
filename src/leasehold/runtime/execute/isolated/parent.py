"""The parent's side of an isolated handler: a child process in a session of its own, killed as a tree.

The child is started through a guard (`guard.py`) that ends everything below it when the handler ends, when the lease
is lost, or when this worker dies, however it dies. They exchange JSON lines over pipes, never pickle.
"""

import os
import select
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, Final

from msgspec import json

from leasehold import canonical
from leasehold.errors import LeaseholdError
from leasehold.model.effect import Intent, Record
from leasehold.model.failure.failure import Failure
from leasehold.model.lease import Settlement
from leasehold.model.machine import Move
from leasehold.redact import registered
from leasehold.runtime.attempt import Attempt, State, judge
from leasehold.runtime.commit.replies import Item
from leasehold.runtime.limits import ISOLATED_POLL_SECONDS
from leasehold.runtime.task import EngineChannel
from leasehold.shapes import Shape

GUARD: Final = str(Path(__file__).with_name("guard.py"))
ITEMS: Final[dict[str, Shape[Item]]] = {"intent": Shape(Intent), "record": Shape(Record), "move": Shape(Move)}
_settlement: Final = Shape[Settlement](Settlement)


def run(attempt: Attempt, channel: EngineChannel, url: str) -> Settlement:
    """Run an attempt in a child process and return its end. Its transactions reach the database at `url`."""
    attempt.handler.check(canonical.decode(attempt.lease.payload))
    (life_read, life_write), (message_read, message_write) = _pipes()
    try:
        child = subprocess.Popen(
            [sys.executable, "-P", GUARD, str(life_read), str(message_write)],
            stdin=subprocess.PIPE,
            pass_fds=(life_read, message_write),
            start_new_session=True,
        )
    except BaseException:
        for descriptor in (life_read, life_write, message_read, message_write):
            os.close(descriptor)
        raise
    os.close(life_read)
    os.close(message_write)
    ending = _once(life_write)
    attempt.stop = ending
    if attempt.state is State.LOST:  # while the child was being started
        ending()
    try:
        _send(child, {"spec": {**_spec(attempt), "url": url, "secrets": registered()}})
        end = _serve(child, _Lines(message_read), channel)
        return judge(attempt.lease, attempt.handler, end) if isinstance(end, Failure) else end
    finally:
        ending()
        os.close(message_read)
        _close(child.stdin)
        child.wait()


class _Lines:
    """Complete lines from a pipe. A buffered file would hide a second line from a poll of the pipe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._received = bytearray()
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def next(self, seconds: float) -> bytes | None:
        """Return a line; None if none came in time, and an empty one at the end."""
        while b"\n" not in self._received:
            if not self._poll.poll(seconds * 1000):
                return None
            more = os.read(self._descriptor, 65_536)
            if not more:
                return b""
            self._received += more
        channel, _, self._received = self._received.partition(b"\n")
        return bytes(channel)


def _pipes() -> tuple[tuple[int, int], tuple[int, int]]:
    first = os.pipe()
    try:
        return first, os.pipe()
    except BaseException:
        for descriptor in first:
            os.close(descriptor)
        raise


def _once(descriptor: int) -> Any:
    """Return a function that closes a descriptor once; the guard takes that as the order to end everything."""
    left = [descriptor]

    def close() -> None:
        try:
            os.close(left.pop())
        except IndexError:
            return

    return close


def _close(pipe: IO[bytes] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except BrokenPipeError:
        return


def _serve(child: subprocess.Popen[bytes], lines: _Lines, channel: EngineChannel) -> Settlement | Failure:
    """Answer the child's requests until it sends its end or is gone."""
    was_cancelled = False
    while True:
        line = lines.next(ISOLATED_POLL_SECONDS)
        if channel.cancelled and not was_cancelled:
            was_cancelled = _send(child, {"cancelled": True})
        if line is None:
            continue
        if not line:
            return _crashed("")
        end = _dispatch(child, json.decode(line), channel)
        if end is not None:
            return end


def _dispatch(
    child: subprocess.Popen[bytes], message: dict[str, Any], channel: EngineChannel
) -> Settlement | Failure | None:
    match message:
        case {"end": fields}:
            return _settlement.convert(fields)
        case {"failure": fields}:
            return Failure(**fields)
        case {"exit": code}:
            return _crashed(f": signal {-code}" if code < 0 else f": exit code {code}")
        case {"progress": text}:
            channel.report_progress(text)
        case {"inputs": _}:
            _send(child, {"inputs": channel.inputs()})
        case {"enter": request}:
            _send(child, {"entered": {"number": request["number"], **_enter(request, channel)}})
    return None


def _crashed(how: str) -> Failure:
    return Failure("WORKER_CRASHED", f"the child process ended without a result{how}", retryable=True)


def _enter(request: dict[str, Any], channel: EngineChannel) -> dict[str, Any]:
    """Commit an entry or a move for the child; return the answer as JSON-able fields."""
    item: Item = next(shape.convert(request[name]) for name, shape in ITEMS.items() if name in request)
    try:
        return {"entry": channel.hand_over(item)()}
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
    function = attempt.handler.function
    main = sys.modules["__main__"]
    module = function.__module__
    path = getattr(main, "__file__", None) if module == "__main__" else None
    spec = getattr(main, "__spec__", None)
    if module == "__main__" and spec is not None:
        module, path = spec.name, None
    return {
        "lease": attempt.lease,
        "module": module,
        "path": path,
        "name": function.__qualname__,
        "sys_path": sys.path,
        "argv": sys.argv,
    }
