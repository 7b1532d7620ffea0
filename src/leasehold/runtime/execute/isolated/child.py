"""The child's side of an isolated handler: import the module, run the one function, send the result, end.

A process that the handler forks has a copy of all this and must never use it: the channel is the child's alone.
"""

import asyncio
import contextlib
import importlib
import itertools
import os
import runpy
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from queue import SimpleQueue
from typing import Any, Final

import msgspec

from leasehold import clock, errors
from leasehold.batching import answer_all
from leasehold.errors import DatabaseUnavailable, LeaseholdError, Misuse
from leasehold.model.effect import Entry, Intent, Record
from leasehold.model.failure.failure import classify
from leasehold.model.lease import Lease, Settlement
from leasehold.processes import exit_flushed
from leasehold.redact import register
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.commit.requests import AnyReply, CommitChannel, Item, run_blocking
from leasehold.runtime.handlers import Handler
from leasehold.runtime.observe.inherited import LogForm, inherited_form
from leasehold.runtime.observe.records import redacted_records
from leasehold.runtime.run import loading_handler, mark_isolated_process
from leasehold.shapes import Shape
from leasehold.store import open_store

_lease: Final = Shape[Lease](Lease)
_entry: Final = Shape[Entry](Entry)
_log_form: Final = Shape[LogForm | None](LogForm | None)

REFUSALS: Final = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, LeaseholdError)
}


class PipeChannel(CommitChannel):
    """How the child reaches its worker, which commits for it together with the entries of other attempts."""

    def __init__(self, output: int) -> None:
        self._pid = os.getpid()
        os.set_inheritable(output, False)  # noqa: FBT003 — the standard library has it by position
        self._output = output
        # The pipe is the engine's alone: a program that the handler starts finds nothing on its standard input.
        self._input = os.fdopen(os.dup(0), "rb")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        self._lock = threading.Lock()
        self._inputs: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._replies: dict[int, AnyReply] = {}
        self._numbers = itertools.count()
        self.cancelled = False
        self.on_cancel: Callable[[], object] = lambda: None
        self._url = ""

    def check(self) -> None:
        """Raise in a process that the handler forked: its messages would be taken for the handler's own."""
        if os.getpid() != self._pid:
            raise Misuse(
                "A process that a handler forks cannot reach the engine; have it return its result to the handler."
            )

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """End a process that the handler forked where it leaves the handler, without a message to the engine."""
        code = 0
        try:
            yield
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
            raise
        except BaseException:
            code = 1
            raise
        finally:
            if os.getpid() != self._pid:
                exit_flushed(code)

    def send(self, **message: object) -> None:
        self.check()
        with self._lock:
            left = msgspec.json.encode(message) + b"\n"
            while left:
                left = left[os.write(self._output, left) :]

    def spec(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(self._input.readline())["spec"]
        self._url = found["url"]
        return found

    def transact(self, intent: Intent, act: Callable[[object], Record]) -> Entry:
        """Run `act` on a connection of this process's own: a transaction cannot be lent through a pipe."""
        self.check()
        with contextlib.closing(open_store(self._url, connections=1)) as store:
            return store.effects.transact(intent, act)

    def commit(self, item: Item, reply: AnyReply) -> None:
        self.check()
        number = next(self._numbers)
        self._replies[number] = reply
        self.send(enter={"number": number, type(item).__name__.lower(): item})

    def listen(self) -> None:
        """Read the worker's messages until it closes the pipe."""
        for text in self._input:
            message = msgspec.json.decode(text)
            if "cancelled" in message:
                self.cancelled = True
                self.on_cancel()
            elif "entered" in message:
                self._answer(**message["entered"])
            else:
                self._inputs.put(message["inputs"])

    def _answer(self, number: int, entry: object = None, code: str = "", detail: str = "") -> None:
        """Answer with what the ledger answered, or with the error that it raised in the worker."""
        reply = self._replies.pop(number, None)
        if reply is not None:  # an answer without a request must not end the listener
            error = REFUSALS.get(code, DatabaseUnavailable)
            answer_all([(reply, error(detail) if entry is None else _entry.convert(entry))])

    def inputs(self) -> dict[str, Any]:
        self.send(inputs=True)
        return self._inputs.get()

    def report_progress(self, progress: str) -> None:
        self.send(progress=progress)

    @property
    def interrupted(self) -> bool:
        return self.cancelled

    stopping = False  # not passed on to a child
    lost = False  # the guard ends a child whose lease is lost


class ChildExecutor:
    """Runs one attempt in this process and keeps its end."""

    def __init__(self, channel: PipeChannel) -> None:
        self._channel = channel
        self._ends: SimpleQueue[Settlement | None] = SimpleQueue()

    def call(self, attempt: Attempt) -> Any:
        self._channel.send(called=True)  # from here on its time-out counts
        with self._channel.alone():
            result = attempt.call(lambda _: self._channel)
        return self._await(result) if attempt.handler.is_async else result

    async def _await(self, result: Awaitable[object]) -> object:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        self._channel.on_cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        if self._channel.cancelled:
            task.cancel()
        with self._channel.alone():  # a forked process ends before it could close the loop, whose wake-ups both share
            return await result

    def settle(self, attempt: Attempt, end: Settlement | None) -> None:  # noqa: ARG002
        self._ends.put(end)

    def skip(self, attempt: Attempt) -> None:  # noqa: ARG002
        raise AssertionError("nobody else can release or lose it here")

    def end(self) -> Settlement | None:
        """Return the end. Waits for a transaction that a thread of the handler has open: it is not cut off."""
        return self._ends.get()


def main(output: int) -> None:
    """Run the attempt that the worker names, and send its end."""
    mark_isolated_process()
    channel = PipeChannel(output)
    spec = channel.spec()
    register(*spec["secrets"])
    threading.Thread(target=channel.listen, daemon=True).start()
    try:
        with channel.alone(), redacted_records():
            handler = _load(spec)
    except BaseException as error:  # noqa: BLE001 — a module that cannot be imported, for one
        if isinstance(error, Misuse):
            sys.stderr.write(f"leasehold: {spec['name']}: {error}\n")
        channel.send(unloadable=classify(error))
        exit_flushed(0)
    try:
        with channel.alone(), redacted_records():
            end = _run(spec, handler, channel)
        channel.send(end=end)
    except BaseException as error:  # noqa: BLE001 — the worker must learn of it
        channel.send(failure=classify(error))
    exit_flushed(0)


def _load(spec: dict[str, Any]) -> Handler:
    sys.path[:], sys.argv[:] = spec["sys_path"], spec["argv"]
    with loading_handler(), inherited_form(_log_form.convert(spec["logs"])):
        handler = _find(spec)
        for module in spec["arounds"]:  # they may be registered in modules that the handler's does not import
            importlib.import_module(module)
        return handler


def _run(spec: dict[str, Any], handler: Handler, channel: PipeChannel) -> Settlement | None:
    executor = ChildExecutor(channel)
    attempt = Attempt(_lease.convert(spec["lease"]), handler, clock.uptime())
    attempt.isolated = False  # this is the process it was isolated in
    steps = attempt.run(executor)
    if handler.is_async:
        asyncio.run(steps)
    else:
        run_blocking(steps)
    return executor.end()


def _find(spec: dict[str, Any]) -> Handler:
    if spec["path"]:
        found: Any = runpy.run_path(spec["path"], run_name="__leasehold_isolated__")[spec["name"]]
    else:
        found = getattr(importlib.import_module(spec["module"]), spec["name"])
    handler = getattr(found, "handler", None)
    if not isinstance(handler, Handler):
        raise TypeError(f"{spec['name']} is not the decorated function it was")
    return handler
