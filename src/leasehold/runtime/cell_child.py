"""The child's side of an isolated handler: import the module, run the one function, send the result, end."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import itertools
import os
import runpy
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import msgspec

from leasehold import canonical, clock
from leasehold.errors import Cancelled, DatabaseUnavailable, LeaseLost
from leasehold.model.effect import Entry, Intent, Record
from leasehold.model.failure import Failure, classify
from leasehold.model.lease import Lease
from leasehold.redact import register
from leasehold.runtime.effects import Ledger
from leasehold.runtime.handlers import Handler
from leasehold.runtime.serving import run_inside_a_cell
from leasehold.runtime.task import Task
from leasehold.store import open_store


class PipeLine:
    """How the child speaks to its worker."""

    def __init__(self, words: int) -> None:
        os.set_inheritable(words, False)  # noqa: FBT003 — the standard library has it by position
        self._words = words
        # The pipe is the engine's alone: a program that the handler starts finds nothing on its standard input.
        self._ear = os.fdopen(os.dup(0), "rb")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        self._lock = threading.Lock()
        self._inputs: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._entered: dict[int, SimpleQueue[dict[str, Any]]] = {}
        self._numbers = itertools.count()
        self._cancelled = False
        self._url = ""

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
        """The way to the ledger: the worker's own."""
        return PipeLedger(self, self._url)

    def enter(self, item: Intent | Record) -> dict[str, Any]:
        """Have the worker commit an intent or a record, and return its answer."""
        number = next(self._numbers)
        answer = self._entered[number] = SimpleQueue()
        name = "intent" if isinstance(item, Intent) else "record"
        self.say(enter={"number": number, name: item})
        return answer.get()

    def listen(self) -> None:
        """Hear what the worker says, until it hangs up."""
        for text in self._ear:
            word = msgspec.json.decode(text)
            if "cancelled" in word:
                self._cancelled = True
            elif "entered" in word:
                self._entered.pop(word["entered"]["number"]).put(word["entered"])
            else:
                self._inputs.put(word["inputs"])

    def inputs(self) -> dict[str, Any]:
        """Ask for the outputs of the stages before."""
        self.say(inputs=True)
        return self._inputs.get()

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


class PipeLedger:
    """The ledger as a child reaches it: its worker commits for it, together with what other attempts do."""

    def __init__(self, line: PipeLine, url: str) -> None:
        self._line = line
        self._url = url

    def enter(self, item: Intent | Record) -> Entry:
        """Commit an intent or a record and wait for the answer."""
        answer = self._line.enter(item)
        if "entry" in answer:
            return msgspec.convert(answer["entry"], type=Entry)
        raise LeaseLost if answer["lost"] else DatabaseUnavailable(answer["said"])

    async def enter_async(self, item: Intent | Record) -> Entry:
        """Commit an intent or a record, without holding up the loop."""
        return await asyncio.to_thread(self.enter, item)

    def transact(self, intent: Intent, act: Callable[[object], Record]) -> Entry:
        """Run `act` on a connection of this process's own: a transaction cannot be lent through a pipe."""
        with contextlib.closing(open_store(self._url, connections=1)) as store:
            return store.effects.transact(intent, act)


def main(words: int) -> None:
    """Run the handler the worker names, and send what came of it."""
    run_inside_a_cell()
    line = PipeLine(words)
    spec = line.spec()
    register(*spec["secrets"])
    threading.Thread(target=line.listen, daemon=True).start()
    try:
        result, task = _call(spec, line)
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
    if asyncio.iscoroutine(result):
        result = asyncio.run(result)
    if task.effects.doubt is not None:  # as in the worker: whatever the handler made of it, a person must tell
        raise task.effects.doubt
    return result, task


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
