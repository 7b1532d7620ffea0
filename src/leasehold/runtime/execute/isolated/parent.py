"""The parent's side of an isolated handler: a child process in a session of its own, killed as a tree.

The child is started through a guard (`cell_guard.py`) that ends everything below it when the handler ends, when the
lease is lost, or when this worker dies, however it dies. They speak JSON lines over pipes, never pickle.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, Final

from msgspec import Struct, json

from leasehold import canonical
from leasehold.errors import Cancelled, LeaseholdError
from leasehold.model.delivery import OutgoingMessage
from leasehold.model.effect import Intent, Record
from leasehold.model.failure.failure import Failure
from leasehold.model.lease import Lease
from leasehold.model.machine import Move
from leasehold.redact import registered
from leasehold.runtime.attempt import Attempt, State
from leasehold.runtime.effects.effects import Item
from leasehold.runtime.task import EngineChannel
from leasehold.shapes import Shape

GUARD: Final = str(Path(__file__).with_name("guard.py"))
LOOK_SECONDS: Final = 0.2
ITEMS: Final[dict[str, Shape[Item]]] = {"intent": Shape(Intent), "record": Shape(Record), "move": Shape(Move)}
_posts: Final = Shape[list[OutgoingMessage] | None](list[OutgoingMessage] | None)


class Value(Struct, frozen=True):
    """What the handler returned, the trace of its effects, and the messages to be delivered."""

    value: Any
    trace: dict[str, Any] | None = None
    posts: list[OutgoingMessage] | None = None


def fields_of(lease: Lease) -> dict[str, Any]:
    """Return the arguments the payload holds."""
    found: dict[str, Any] = canonical.decode(lease.payload)
    return found


def run(attempt: Attempt, channel: EngineChannel, url: str) -> Value | Failure:
    """Run an attempt in a child process and return what came of it. Its transactions reach the database at `url`."""
    (life_read, life_write), (word_read, word_write) = _pipes()
    try:
        child = subprocess.Popen(
            [sys.executable, "-P", GUARD, str(life_read), str(word_write)],
            stdin=subprocess.PIPE,
            pass_fds=(life_read, word_write),
            start_new_session=True,
        )
    except BaseException:
        for descriptor in (life_read, life_write, word_read, word_write):
            os.close(descriptor)
        raise
    os.close(life_read)
    os.close(word_write)
    ending = _once(life_write)
    attempt.stop = ending
    if attempt.state is State.LOST:  # while the child was being started
        ending()
    try:
        _say(child, {"spec": {**_spec(attempt), "url": url, "secrets": registered()}})
        return _converse(child, _Words(word_read), channel)
    finally:
        ending()
        os.close(word_read)
        _close(child.stdin)
        child.wait()


class _Words:
    """Whole lines from a pipe. A buffered file would hide a second line from whoever waits for the pipe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._heard = bytearray()
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def next(self, seconds: float) -> bytes | None:
        """Return a line; None if none came in time, and an empty one at the end."""
        while b"\n" not in self._heard:
            if not self._poll.poll(seconds * 1000):
                return None
            more = os.read(self._descriptor, 65_536)
            if not more:
                return b""
            self._heard += more
        channel, _, self._heard = self._heard.partition(b"\n")
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


def _converse(child: subprocess.Popen[bytes], words: _Words, channel: EngineChannel) -> Value | Failure:
    told = False
    while True:
        text = words.next(LOOK_SECONDS)
        if channel.cancelled and not told:
            told = _say(child, {"cancelled": True})
        if text is None:
            continue
        if not text:
            return Failure("WORKER_CRASHED", "the child process ended without a result", retryable=True)
        answer = _heed(child, json.decode(text), channel)
        if answer is not None:
            return answer


def _heed(child: subprocess.Popen[bytes], word: dict[str, Any], channel: EngineChannel) -> Value | Failure | None:
    match word:
        case {"result": value}:
            return Value(value, word.get("trace"), _posts.convert(word.get("posts")))
        case {"failure": fields}:
            return Failure(**fields)
        case {"stopped": said}:
            raise Cancelled(said)
        case {"exit": code}:
            return Failure("WORKER_CRASHED", f"the child process ended without a result: {_told(code)}", retryable=True)
        case {"progress": text}:
            channel.report_progress(text)
        case {"inputs": _}:
            _say(child, {"inputs": channel.inputs()})
        case {"enter": asked}:
            _say(child, {"entered": {"number": asked["number"], **_enter(asked, channel)}})
    return None


def _enter(asked: dict[str, Any], channel: EngineChannel) -> dict[str, Any]:
    """Commit an entry or a move for the child, and put the answer into words."""
    item: Item = next(shape.convert(asked[name]) for name, shape in ITEMS.items() if name in asked)
    try:
        return {"entry": channel.ledger.enter(item)}
    except LeaseholdError as error:
        return {"code": error.code, "said": error.detail}


def _told(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _say(child: subprocess.Popen[bytes], word: dict[str, Any]) -> bool:
    try:
        assert child.stdin is not None
        child.stdin.write(json.encode(word) + b"\n")
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
