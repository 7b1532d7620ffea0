"""The façade's decorators `app.around`, `app.on_start` and `app.on_stop`."""

from typing import TypeVar

from leasehold.runtime.hooks import Around, Hook, Hooks, make_around

A = TypeVar("A", bound=Around)
H = TypeVar("H", bound=Hook)


class AroundDecorator:
    """Registers what surrounds every attempt: `@app.around`."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    def __call__(self, function: A) -> A:
        """Surround every attempt: a function of the task that yields once, or returns a context manager.

        What a handler raises is raised there too, and ends the attempt whatever is made of it. The first one registered
        is the outermost. An async one surrounds async handlers alone. That of an isolated handler runs in its process.
        """
        self._hooks.arounds.append(make_around(function))
        return function


class StartDecorator:
    """Registers what a worker calls before it claims anything: `@app.on_start`."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    def __call__(self, function: H) -> H:
        """Call this before a worker claims anything, an async function on its event loop.

        If it fails, the worker does not start: `StartFailed`.
        """
        self._hooks.starts.append(function)
        return function


class StopDecorator:
    """Registers what a worker calls after its last attempt: `@app.on_stop`."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    def __call__(self, function: H) -> H:
        """Call this when a worker that had started has run its last attempt; those registered last come first."""
        self._hooks.stops.append(function)
        return function
