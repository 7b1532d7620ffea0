"""Group commit: whatever gathers while one batch is written is the next batch. No timer, no fixed size.

`BatchThread` is the loop, for anything that gathers work. `Batcher` does it for callers on an event loop, each of
whom awaits the answer to one item. Answers to many callers cost one call to each event loop.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

I = TypeVar("I")  # noqa: E741 — what goes in
O = TypeVar("O")  # noqa: E741 — what comes out


class Answerable(Protocol):
    """Takes one answer; on its event loop if it has one."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop on which `answer` must be called; None: any thread."""

    def answer(self, value: Any, /) -> None:
        """Take the answer."""


def answer_all(answers: Iterable[tuple[Answerable, Any]]) -> None:
    """Give answers, those of one event loop in one call."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Answerable, Any]]] = {}
    for reply, value in answers:
        if reply.loop is None:
            reply.answer(value)
        else:
            by_loop.setdefault(reply.loop, []).append((reply, value))
    for loop, pairs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_answer_here, pairs)
        except RuntimeError:  # the loop is closed: nobody waits any more
            continue


def _answer_here(pairs: list[tuple[Answerable, Any]]) -> None:
    for reply, value in pairs:
        reply.answer(value)


class Promise(asyncio.Future[O]):
    """A future that is answered with a value or an exception."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self.get_loop()

    def answer(self, value: O | BaseException, /) -> None:
        """Resolve it, unless it was cancelled."""
        if self.done():
            return
        if isinstance(value, BaseException):
            self.set_exception(value)
        else:
            self.set_result(value)


class UncancellableFuture(Promise[O]):
    """A future that ignores cancellation: a task that awaits it is cancelled once the answer is there to read."""

    def cancel(self, msg: object = None) -> bool:  # noqa: ARG002
        """Refuse: what is being written will be answered."""
        return False


class BatchThread:
    """A thread that calls `write` as long as `has_work`. Producers add their work first and `wake` it after that.

    It ends after so long a rest, and the next work starts another.
    """

    def __init__(
        self, name: str, has_work: Callable[[], bool], write: Callable[[], None], rest_seconds: float | None = None
    ) -> None:
        self._rest_seconds = rest_seconds
        self._name = name
        self._has_work = has_work
        self._write = write
        self._changed = threading.Condition()
        self._is_idle = True
        self._is_started = False
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Have work written from now on."""
        self._is_started = True
        self.wake()

    def wake(self) -> None:
        """Have new work written. Takes no lock while the thread is writing: it checks for work before it sleeps."""
        if self._is_idle:
            with self._changed:
                if self._thread is not None:
                    self._changed.notify()
                elif self._is_started and not self._is_closed and self._has_work():
                    self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                    self._thread.start()

    def close(self, seconds: float | None = None) -> None:
        """Let it write what is left and end; wait for that, at most `seconds`."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join(timeout=seconds)

    def _run(self) -> None:
        while self._await_work():
            self._write()

    def _await_work(self) -> bool:
        if self._has_work():
            return True
        with self._changed:
            self._is_idle = True
            self._changed.wait_for(lambda: self._has_work() or self._is_closed, timeout=self._rest_seconds)
            if self._has_work():
                self._is_idle = False
                return True
            self._thread = None
            return False


class Batcher(Generic[I, O]):
    """Writes items of many callers together, at most `batch_max` at once.

    `work` answers each item of a batch with a result or an exception, in order; what it raises is the answer to all.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[list[I]], Sequence[O | Exception]],
        batch_max: int,
        promise: type[Promise[O]] = Promise,
    ) -> None:
        self._name = name
        self._work = work
        self._batch_max = batch_max
        self._promise = promise
        self._gathered: deque[tuple[I, Promise[O]]] = deque()
        self._is_closed = False
        self._lock = threading.Lock()
        self._thread = BatchThread(name, lambda: bool(self._gathered), self._write)

    def submit(self, item: I) -> asyncio.Future[O]:
        """Have an item written with the next batch; await the answer."""
        promise = self._promise(loop=asyncio.get_running_loop())
        with self._lock:
            if self._is_closed:
                raise RuntimeError(f"{self._name} is closed")
            self._gathered.append((item, promise))
            self._thread.start()  # under the lock: a close in between would leave the item without an answer
        self._thread.wake()
        return promise

    def close(self) -> None:
        """Write what is left, and stop."""
        with self._lock:
            self._is_closed = True
        self._thread.close()

    def _write(self) -> None:
        batch = [self._gathered.popleft() for _ in range(min(len(self._gathered), self._batch_max))]
        answers: Sequence[O | Exception]
        try:
            answers = self._work([item for item, _ in batch])
        except Exception as error:  # noqa: BLE001 — every caller gets it
            answers = [error] * len(batch)
        answer_all((promise, answer) for (_, promise), answer in zip(batch, answers, strict=True))
