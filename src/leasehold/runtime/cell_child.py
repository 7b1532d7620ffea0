"""The child's side of an isolated handler: import the module, run the one function, send the result, end."""

from __future__ import annotations

import asyncio
import importlib
import os
import runpy
import sys
import threading
from queue import SimpleQueue
from typing import Any

import msgspec

from leasehold import canonical
from leasehold.model.failure import Failure, classify
from leasehold.model.lease import Lease
from leasehold.runtime.task import Task


class PipeLine:
    """How the child speaks to its worker."""

    def __init__(self, words: int) -> None:
        self._words = words
        self._lock = threading.Lock()
        self._answers: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._cancelled = False

    def say(self, **word: object) -> None:
        """Send one line."""
        with self._lock:
            left = msgspec.json.encode(word) + b"\n"
            while left:
                left = left[os.write(self._words, left) :]

    def listen(self) -> None:
        """Hear what the worker says, until it hangs up."""
        for text in sys.stdin.buffer:
            word = msgspec.json.decode(text)
            if "cancelled" in word:
                self._cancelled = True
            else:
                self._answers.put(word["inputs"])

    def inputs(self) -> dict[str, Any]:
        """Ask for the outputs of the stages before."""
        self.say(inputs=True)
        return self._answers.get()

    def note(self, progress: str) -> None:
        """Report progress."""
        self.say(progress=progress)

    @property
    def cancelled(self) -> bool:
        """Whether the task shall stop."""
        return self._cancelled

    @property
    def lost(self) -> bool:
        """Never true here: the guard ends a child whose lease is lost."""
        return False


def main(words: int) -> None:
    """Run the handler the worker names, and send what came of it."""
    line = PipeLine(words)
    spec = msgspec.json.decode(sys.stdin.buffer.readline())["spec"]
    threading.Thread(target=line.listen, daemon=True).start()
    try:
        line.say(result=canonical.decode(canonical.encode(_call(spec, line))))
    except BaseException as error:  # noqa: BLE001 — every end of the handler is sent
        line.say(failure=_plain(classify(error)))
    os._exit(0)


def _call(spec: dict[str, Any], line: PipeLine) -> object:
    sys.path[:], sys.argv[:] = spec["sys_path"], spec["argv"]
    function, wants_task = _find(spec)
    lease = msgspec.convert(spec["lease"], type=Lease)
    fields = canonical.decode(lease.payload)
    result = function(Task(lease, line), **fields) if wants_task else function(**fields)
    return asyncio.run(result) if asyncio.iscoroutine(result) else result


def _find(spec: dict[str, Any]) -> tuple[Any, bool]:
    if spec["path"]:
        found: Any = runpy.run_path(spec["path"], run_name="__leasehold_cell__")[spec["name"]]
    else:
        found = getattr(importlib.import_module(spec["module"]), spec["name"])
    handler = getattr(found, "handler", None)
    if handler is None:
        raise TypeError(f"{spec['name']} is not the decorated function it was")
    return handler.function, handler.wants_task


def _plain(failure: Failure) -> dict[str, Any]:
    return {name: getattr(failure, name) for name in failure.__struct_fields__}
