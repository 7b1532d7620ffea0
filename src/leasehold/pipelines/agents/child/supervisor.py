"""Runs one child in the calling thread: feeds it, reads what it prints, passes its messages on, stops it in time.

Memory is bounded whatever the child does: output is read only as fast as it is used, lines are cut, and what waits to
be read by the child is limited. Nothing waits for a pipe to be closed, because a stranger may hold it open: when the
guard has reported the end of the tree, what the pipes still hold is read and that is all.
"""

from __future__ import annotations

import math
import os
import selectors
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Protocol, assert_never

from leasehold.pipelines.agents.child.lines import LineSplitter, OutputLine
from leasehold.pipelines.agents.child.process import ChildProcess, TreeEnd
from leasehold.pipelines.agents.child.protocol import (
    ChildMessage,
    ChildProgress,
    ChildProtocolInvalid,
    ChildResult,
    ChildUsage,
    SolverCall,
    answer_line,
    parse_line,
)
from leasehold.pipelines.agents.child.stdin import ChildInput
from leasehold.pipelines.agents.child.stopping import StopReason, StopRequest
from leasehold.pipelines.agents.limits import LOOK_SECONDS, READ_BYTES

DRAIN_BYTES: Final = 4 * READ_BYTES  # more than a pipe holds


class OutputSink(Protocol):
    """Where everything goes that a child prints."""

    def stdout(self, chunk: bytes) -> None: ...

    def stderr(self, chunk: bytes) -> None: ...


# Turns a line into messages: the protocol of children, or the transcript of a known program. It gets every line that
# can be a JSON object, and of others some.
LineParser = Callable[[OutputLine], Sequence[ChildMessage]]


def read_message(line: OutputLine) -> Sequence[ChildMessage]:
    """Read a line by the protocol of children."""
    message = parse_line(line)
    return () if message is None else (message,)


@dataclass(frozen=True, slots=True)
class ChildCallbacks:
    """What the coordinator does with messages. Called in the thread that runs the child.

    `on_usage` answers whether the tokens are within the budget: if not, the child is killed. What a callback raises,
    or the sink, kills the child, and is raised again when its tree is gone.
    """

    on_usage: Callable[[int], bool] = lambda _: True
    on_solver_call: Callable[[str], bool] = lambda _: False
    on_progress: Callable[[str], None] = lambda _: None


@dataclass(slots=True)
class ChildEnd:
    """What became of a child. `result` is what it sent; None if it sent nothing."""

    code: int | None = None
    stopped: StopReason | None = None
    result: ChildResult | None = None
    refusal: ChildProtocolInvalid | None = None
    tokens: int = 0
    lines_cut: int = 0
    memory_kb: int = 0
    seconds: float = 0.0

    @property
    def is_success(self) -> bool:
        return self.code == 0 and self.stopped is None


@dataclass(frozen=True, slots=True)
class ChildConversation:
    """What a child is sent first, how its lines are read, and who gets its messages."""

    first_line: bytes | None = None  # none: standard input is closed at once
    parser: LineParser = read_message
    callbacks: ChildCallbacks = field(default_factory=ChildCallbacks)
    timeout: float | None = None


class Supervisor:
    """One run of one child. Use `run` once."""

    def __init__(
        self, child: ChildProcess, conversation: ChildConversation, sink: OutputSink, stop: StopRequest
    ) -> None:
        self._child = child
        self._conversation = conversation
        self._sink = sink
        self._stop = stop
        self._end = ChildEnd()
        self._error: BaseException | None = None
        self._lines = LineSplitter(only_objects=True)
        self._selector = selectors.DefaultSelector()
        self._input = ChildInput(child, self._selector)
        self._deadline = math.inf
        self._is_throttled = False

    def run(self) -> ChildEnd:
        """Return when the child and everything below it is gone."""
        started = time.monotonic()
        self._deadline = started + (self._conversation.timeout or math.inf)
        try:
            for source in (self._child.stdout, self._child.stderr, self._child.report, self._stop):
                self._selector.register(source, selectors.EVENT_READ)
            self._input.begin(self._conversation.first_line)
            tree = self._until_gone()
            self._drain()
        finally:
            self._child.close()
            self._selector.close()
        if self._error is not None:
            raise self._error
        self._end.code, self._end.memory_kb = tree.code, tree.memory_kb
        self._end.seconds = time.monotonic() - started
        if self._stop.is_urgent:  # also by what the child printed last, which was read after its end
            self._end.stopped = self._stop.reason
        return self._end

    def _until_gone(self) -> TreeEnd:
        while True:
            ready = {key.fd for key, _ in self._selector.select(self._wait())}
            # A report may be of the end: then it is too late to stop anything.
            if self._child.report.fileno() not in ready:
                self._obey_stop(is_woken=self._stop.fileno() in ready)
            if self._child.stdin in ready:
                self._input.flush()
            for descriptor in (self._child.stdout, self._child.stderr):
                if descriptor in ready:
                    self._read(descriptor)
            if self._child.report.fileno() in ready and (tree := self._child.take_report()) is not None:
                return tree
            self._child.check_guard()
            self._throttle()

    def _wait(self) -> float | None:
        if self._stop.reason is not None:
            return LOOK_SECONDS
        return None if self._deadline == math.inf else max(0.0, self._deadline - time.monotonic())

    def _obey_stop(self, *, is_woken: bool) -> None:
        if is_woken:
            self._stop.take()
        if self._stop.reason is None and time.monotonic() >= self._deadline:
            self._stop.request(StopReason.TIMEOUT)
        self._end.stopped = self._stop.reason
        if self._stop.is_urgent:
            self._child.kill()
        elif self._stop.reason is not None:
            self._child.terminate()

    def _throttle(self) -> None:
        """Leave the output unread while too many answers wait: who asks must also read."""
        is_read = self._child.stdout in self._selector.get_map()
        if is_read and self._input.is_behind:
            self._selector.unregister(self._child.stdout)
            self._is_throttled = True
        elif self._is_throttled and not self._input.is_behind:
            self._selector.register(self._child.stdout, selectors.EVENT_READ)
            self._is_throttled = False

    def _read(self, descriptor: int) -> int:
        """Take one chunk from a pipe, and return its size."""
        try:
            chunk = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return 0
        if not chunk:
            with suppress(KeyError):
                self._selector.unregister(descriptor)
        elif descriptor == self._child.stderr:
            self._keep(self._sink.stderr, chunk)
        else:
            self._keep(self._sink.stdout, chunk)
            self._take_lines(self._lines.feed(chunk))
        return len(chunk)

    def _keep(self, write: Callable[[bytes], None], chunk: bytes) -> None:
        if self._error is not None:
            return
        try:
            write(chunk)
        except BaseException as error:  # noqa: BLE001 — raised again when the tree is gone
            self._fail(error)

    def _drain(self) -> None:
        """Read what the pipes still hold. Somebody outside the tree may hold one open, and even write to it."""
        for descriptor in (self._child.stdout, self._child.stderr):
            left = DRAIN_BYTES
            while left > 0 and (size := self._read(descriptor)):
                left -= size
        self._take_lines(self._lines.end())

    def _take_lines(self, lines: Iterable[OutputLine]) -> None:
        for line in lines:
            self._end.lines_cut += line.cut > 0
            if self._stop.is_urgent:
                continue  # it is being killed: what it still prints is evidence only
            try:
                for message in self._conversation.parser(line):
                    self._dispatch(message)
            except ChildProtocolInvalid as refusal:
                self._end.refusal = refusal
                self._stop.request(StopReason.PROTOCOL)
            except BaseException as error:  # noqa: BLE001 — raised again when the tree is gone
                self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._error = error
        self._stop.request(StopReason.FAILURE)

    def _dispatch(self, message: ChildMessage) -> None:
        callbacks = self._conversation.callbacks
        match message:
            case ChildUsage():
                if callbacks.on_usage(message.tokens):
                    self._end.tokens += message.tokens
                else:
                    self._stop.request(StopReason.BUDGET)
            case SolverCall():
                self._input.answer(answer_line(message, granted=callbacks.on_solver_call(message.id)))
            case ChildProgress():
                callbacks.on_progress(message.text)
            case ChildResult():
                if self._end.result is not None:
                    raise ChildProtocolInvalid("A second result.")
                self._end.result = message
            case _:
                assert_never(message)
