"""The child's side of an isolated handler: import the module, run the one function, send the result, end.

A process that the handler forks has a copy of all this and must never use it: the line is the child's alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import itertools
import os
import runpy
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from queue import SimpleQueue
from typing import Any, Final

import msgspec

from leasehold import canonical, clock, errors
from leasehold.batching import answer_all
from leasehold.errors import Cancelled, DatabaseUnavailable, LeaseholdError, Misuse
from leasehold.model.effect import Entry, Intent, Record
from leasehold.model.failure.failure import Failure, classify
from leasehold.model.lease import Lease
from leasehold.redact import register
from leasehold.runtime.commit.replies import AnyReply, AsyncReply, Reply
from leasehold.runtime.effects.effects import Item, Ledger
from leasehold.runtime.handlers import Handler
from leasehold.runtime.run import mark_isolated_process
from leasehold.runtime.task import Task, settle
from leasehold.shapes import Shape
from leasehold.store import open_store

_lease: Final = Shape[Lease](Lease)
_entry: Final = Shape[Entry](Entry)

REFUSALS: Final = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, LeaseholdError)
}


class PipeChannel:
    """How the child speaks to its worker."""

    def __init__(self, words: int) -> None:
        self._home = os.getpid()
        os.set_inheritable(words, False)  # noqa: FBT003 — the standard library has it by position
        self._words = words
        # The pipe is the engine's alone: a program that the handler starts finds nothing on its standard input.
        self._ear = os.fdopen(os.dup(0), "rb")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        self._lock = threading.Lock()
        self._inputs: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._asked: dict[int, AnyReply] = {}
        self._numbers = itertools.count()
        self._cancelled = False
        self._url = ""

    def check(self) -> None:
        """Raise in a process that the handler forked: what it said would be taken for the handler's own words."""
        if os.getpid() != self._home:
            raise Misuse(
                "A process that a handler forks has no way to the engine; have it give what it found to the handler."
            )

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """End a process that the handler forked where it leaves the handler, without a word to the engine."""
        code = 0
        try:
            yield
        except BaseException as error:
            code = _exit_code(error)
            raise
        finally:
            if os.getpid() != self._home:
                _end(code)

    def say(self, **word: object) -> None:
        """Send one line."""
        self.check()
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
        self.check()
        return PipeLedger(self, self._url)

    def ask(self, item: Item, reply: AnyReply) -> None:
        """Have the worker commit an entry or a move; the reply is answered once it has."""
        self.check()
        number = next(self._numbers)
        self._asked[number] = reply
        self.say(enter={"number": number, type(item).__name__.lower(): item})

    def listen(self) -> None:
        """Hear what the worker says, until it hangs up."""
        for text in self._ear:
            word = msgspec.json.decode(text)
            if "cancelled" in word:
                self._cancelled = True
            elif "entered" in word:
                self._answer(word["entered"])
            else:
                self._inputs.put(word["inputs"])

    def _answer(self, entered: dict[str, Any]) -> None:
        reply = self._asked.pop(entered["number"], None)
        if reply is not None:  # one that nobody here asked for must not end the listener
            answer_all([(reply, _entry_of(entered))])

    def inputs(self) -> dict[str, Any]:
        """Ask for the outputs of the stages before."""
        self.say(inputs=True)
        return self._inputs.get()

    def report_progress(self, progress: str) -> None:
        """Report progress."""
        self.say(progress=progress)

    stopping = False  # a child is not told

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

    def __init__(self, channel: PipeChannel, url: str) -> None:
        self._channel = channel
        self._url = url

    def enter(self, item: Item) -> Entry:
        """Commit an entry or a move and wait for the answer."""
        return self.hand_over(item)()

    def hand_over(self, item: Item) -> Callable[[], Entry]:
        """Have an entry committed; what is returned waits for the answer."""
        reply = Reply()
        self._channel.ask(item, reply)
        return reply.wait

    def enter_async(self, item: Item) -> AsyncReply:
        """Commit an entry or a move and await the answer; no thread waits for it."""
        reply = AsyncReply()
        self._channel.ask(item, reply)
        return reply

    def transact(self, intent: Intent, act: Callable[[object], Record]) -> Entry:
        """Run `act` on a connection of this process's own: a transaction cannot be lent through a pipe."""
        self._channel.check()
        with contextlib.closing(open_store(self._url, connections=1)) as store:
            return store.effects.transact(intent, act)


def main(words: int) -> None:
    """Run the handler the worker names, and send what came of it."""
    mark_isolated_process()
    channel = PipeChannel(words)
    spec = channel.spec()
    register(*spec["secrets"])
    threading.Thread(target=channel.listen, daemon=True).start()
    try:
        with channel.alone():
            result, task = _call(spec, channel)
        channel.say(result=canonical.decode(canonical.encode(result)), trace=task.effects.trace, posts=task.posts.all())
    except Cancelled as error:
        channel.say(stopped=classify(error).message)
    except BaseException as error:  # noqa: BLE001 — every end of the handler is sent
        channel.say(failure=_plain(classify(error, spec.get("rules", ()), clock.wall())))
    _end(0)


def _end(code: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _exit_code(error: BaseException) -> int:
    """Return what a process that ends so tells its parent."""
    if not isinstance(error, SystemExit):
        return 1
    return error.code if isinstance(error.code, int) else int(error.code is not None)


def _call(spec: dict[str, Any], channel: PipeChannel) -> tuple[object, Task]:
    sys.path[:], sys.argv[:] = spec["sys_path"], spec["argv"]
    handler = _find(spec)
    spec["rules"] = handler.rules
    lease = _lease.convert(spec["lease"])
    fields = handler.arguments(canonical.decode(lease.payload))
    task = Task(lease, channel, handler)
    try:
        with channel.alone():
            result = handler.function(*((task,) if handler.wants_task else ()), **fields)
        if asyncio.iscoroutine(result):
            result = asyncio.run(_awaited(result, channel, task))
        task.effects.ahead.settle()
    except BaseException:
        task.effects.ahead.rest()
        raise
    quiet = threading.Event()
    task.effects.when_no_transaction(quiet.set)
    quiet.wait()  # a transaction that a thread of the handler has open is not cut off
    if task.effects.doubt is not None:  # as in the worker: whatever the handler made of it, a person must tell
        raise task.effects.doubt
    return result, task


async def _awaited(result: Coroutine[Any, Any, object], channel: PipeChannel, task: Task) -> object:
    """Await a handler; what it forked ends before it could close the loop, whose wake-ups both would share."""
    task.effects.ahead.home = asyncio.get_running_loop()
    try:
        with channel.alone():
            found = await result
        await settle(task)
        return found
    finally:
        await task.effects.ahead.drain_async()


def _entry_of(entered: dict[str, Any]) -> Entry | LeaseholdError:
    """Return the ledger's answer, or what it refused with, as it would be raised in the worker."""
    if "entry" in entered:
        return _entry.convert(entered["entry"])
    return REFUSALS.get(entered["code"], DatabaseUnavailable)(entered["said"])


def _find(spec: dict[str, Any]) -> Handler:
    if spec["path"]:
        found: Any = runpy.run_path(spec["path"], run_name="__leasehold_isolated__")[spec["name"]]
    else:
        found = getattr(importlib.import_module(spec["module"]), spec["name"])
    handler = getattr(found, "handler", None)
    if not isinstance(handler, Handler):
        raise TypeError(f"{spec['name']} is not the decorated function it was")
    return handler


def _plain(failure: Failure) -> dict[str, Any]:
    return {name: getattr(failure, name) for name in failure.__struct_fields__}
