"""The child's side of an isolated handler: import the module, run the one function, send the result, end."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import runpy
import sys
import threading
from queue import SimpleQueue
from typing import Any

import msgspec

from leasehold import canonical, clock
from leasehold.errors import Cancelled
from leasehold.model.failure import Failure, classify
from leasehold.model.lease import Lease
from leasehold.redact import register
from leasehold.runtime.effects import Ledger
from leasehold.runtime.handlers import Handler
from leasehold.runtime.ledger import StoreLedger
from leasehold.runtime.serving import run_inside_a_cell
from leasehold.runtime.task import Task
from leasehold.store import Store, open_store


class PipeLine:
    """How the child speaks to its worker."""

    def __init__(self, words: int) -> None:
        os.set_inheritable(words, False)  # noqa: FBT003 — the standard library has it by position
        self._words = words
        # The pipe is the engine's alone: a program that the handler starts finds nothing on its standard input.
        self._ear = os.fdopen(os.dup(0), "rb")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        self._lock = threading.Lock()
        self._answers: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._cancelled = False
        self._url = ""
        self._store: Store | None = None

    def say(self, **word: object) -> None:
        """Send one line."""
        with self._lock:
            left = msgspec.json.encode(word) + b"\n"
            while left:
                left = left[os.write(self._words, left) :]

    def spec(self) -> dict[str, Any]:
        """Hear what to run."""
        found: dict[str, Any] = msgspec.json.decode(self._ear.readline())["spec"]
        self._url = found["url"]
        return found

    @property
    def ledger(self) -> Ledger:
        """The way to the ledger: a connection of this process's own, used only by handlers with effects."""
        if self._store is None:
            self._store = open_store(self._url, connections=2)
        return StoreLedger(self._store.effects.enter, self._store.effects.transact)

    def listen(self) -> None:
        """Hear what the worker says, until it hangs up."""
        for text in self._ear:
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
    run_inside_a_cell()
    line = PipeLine(words)
    spec = line.spec()
    register(*spec["secrets"])
    threading.Thread(target=line.listen, daemon=True).start()
    try:
        result, task = _call(spec, line)
        if task.effects.doubt is not None:  # as in the worker: whatever the handler made of it, a person must tell
            raise task.effects.doubt
        line.say(result=canonical.decode(canonical.encode(result)), trace=task.effects.trace, posts=task.posts.all())
    except Cancelled as error:
        line.say(stopped=classify(error).message)
    except BaseException as error:  # noqa: BLE001 — every end of the handler is sent
        line.say(failure=_plain(classify(error, spec.get("rules", ()), clock.wall())))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)


def _call(spec: dict[str, Any], line: PipeLine) -> tuple[object, Task]:
    sys.path[:], sys.argv[:] = spec["sys_path"], spec["argv"]
    handler = _find(spec)
    spec["rules"] = handler.rules
    lease = msgspec.convert(spec["lease"], type=Lease)
    fields = handler.arguments(canonical.decode(lease.payload))
    task = Task(lease, line, is_async=handler.is_async)
    result = handler.function(*((task,) if handler.wants_task else ()), **fields)
    return (asyncio.run(result) if asyncio.iscoroutine(result) else result), task


def _find(spec: dict[str, Any]) -> Handler:
    if spec["path"]:
        found: Any = runpy.run_path(spec["path"], run_name="__leasehold_cell__")[spec["name"]]
    else:
        found = getattr(importlib.import_module(spec["module"]), spec["name"])
    handler = getattr(found, "handler", None)
    if not isinstance(handler, Handler):
        raise TypeError(f"{spec['name']} is not the decorated function it was")
    return handler


def _plain(failure: Failure) -> dict[str, Any]:
    return {name: getattr(failure, name) for name in failure.__struct_fields__}
