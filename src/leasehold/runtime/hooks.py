"""Functions of the program's own around every attempt, and at the start and the end of a worker.

An around sees what happens and cannot change it: one that swallows a failure does not make the attempt a success.
"""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from leasehold.errors import Misuse, StartFailed
from leasehold.runtime.handlers import Handler
from leasehold.runtime.observe.logs import clean
from leasehold.runtime.task import Task

Around = Callable[[Task], Any]
Hook = Callable[[], Any]
RunOnLoop = Callable[[Awaitable[Any]], Any]


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of one app, in the order they were registered."""

    arounds: list[Around] = field(default_factory=list)
    starts: list[Hook] = field(default_factory=list)
    stops: list[Hook] = field(default_factory=list)

    def start(self, run_on_loop: RunOnLoop) -> None:
        """Call what was registered for the start; `StartFailed` if one fails. Async functions run on the loop."""
        for hook in self.starts:
            try:
                _call(hook, run_on_loop)
            except Exception as error:
                raise StartFailed(clean(f"{_name(hook)}: {type(error).__name__}: {error}")) from error

    def stop(self, run_on_loop: RunOnLoop, on_error: Callable[[BaseException], None]) -> None:
        """Call what was registered for the end, the last one first; each is called, whatever came of the others."""
        for hook in reversed(self.stops):
            try:
                _call(hook, run_on_loop)
            except Exception as error:  # noqa: BLE001 — the worker ends all the same
                on_error(error)


def _call(hook: Hook, run_on_loop: RunOnLoop) -> None:
    found = hook()
    if inspect.isawaitable(found):
        run_on_loop(found)


def _name(hook: object) -> str:
    return str(getattr(hook, "__qualname__", hook))


def make_around(function: Callable[[Task], Any]) -> Around:
    """Return what makes a context manager for a task; a generator function becomes one that does."""
    if inspect.isgeneratorfunction(function):
        made: Callable[[Task], Iterator[Any]] = function
        return contextmanager(made)
    if inspect.isasyncgenfunction(function):
        made_async: Callable[[Task], AsyncIterator[Any]] = function
        return asynccontextmanager(made_async)
    if not callable(function):
        raise Misuse("around takes a function of the task that yields once or returns a context manager.")
    return function


def surround(handler: Handler, task: Task, fields: dict[str, Any]) -> Any:
    """Call a handler inside its arounds, the first one outermost. An awaitable for an async handler."""
    call = partial(handler.function, task, **fields) if handler.wants_task else partial(handler.function, **fields)
    if handler.is_async:
        return _surround_async(handler.arounds, task, call)
    return _surround(handler.arounds, task, call)


def _surround(arounds: Sequence[Around], task: Task, call: Callable[[], Any]) -> Any:
    failure: BaseException | None = None
    with ExitStack() as entered:
        try:
            for context in filter(_is_plain, map(_surrounding(task), arounds)):
                entered.enter_context(context)
            return call()
        except BaseException as error:
            failure = error
            raise
    raise failure


async def _surround_async(arounds: Sequence[Around], task: Task, call: Callable[[], Any]) -> Any:
    failure: BaseException | None = None
    async with AsyncExitStack() as entered:
        try:
            for context in map(_surrounding(task), arounds):
                await _enter(entered, context)
            return await call()
        except BaseException as error:
            failure = error
            raise
    raise failure


def _is_plain(context: object) -> bool:
    """Whether it needs no event loop."""
    return hasattr(context, "__enter__")


async def _enter(entered: AsyncExitStack, context: Any) -> None:
    if hasattr(context, "__aenter__"):
        await entered.enter_async_context(context)
    else:
        entered.enter_context(context)


def _surrounding(task: Task) -> Callable[[Around], Any]:
    def make(around: Around) -> Any:
        context = around(task)
        if not hasattr(context, "__enter__") and not hasattr(context, "__aenter__"):
            raise Misuse(f"The around {_name(around)} returned {type(context).__name__}, not a context manager.")
        return context

    return make
