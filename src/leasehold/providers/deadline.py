"""The end of an exchange, whatever the peer does: one that sends a byte now and then cannot hold a worker for ever."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

from leasehold import clock
from leasehold.model.delivery import NotSent


class Deadline:
    """A moment after which nothing is waited for."""

    def __init__(self, seconds: float) -> None:
        self._ends = clock.uptime() + clock.microseconds(seconds)

    def left(self) -> float:
        """Return the seconds that are left, or raise `TimeoutError` if there are none."""
        left = (self._ends - clock.uptime()) / clock.SECOND
        if left <= 0:
            raise TimeoutError("the time given is over")
        return left

    @contextlib.contextmanager
    def guard(self, connection: socket.socket) -> Iterator[None]:
        """Shut the connection down if the block has not ended in time; what waits on it then sees it closed.

        Raises `NotSent` if there is no time left or no watch can be kept: the block has not begun.
        """
        with contextlib.ExitStack() as stack:
            try:
                self._watch(connection, stack)
            except (OSError, RuntimeError) as error:
                raise NotSent(f"no time limit can be kept: {error}") from None
            yield

    def _watch(self, connection: socket.socket, stack: contextlib.ExitStack) -> None:
        # A second descriptor of the same connection: TLS may take the first one over, and the timer never touches it.
        twin = socket.fromfd(connection.fileno(), connection.family, connection.type)
        stack.callback(twin.close)
        timer = threading.Timer(self.left(), _shut, [twin])
        timer.daemon = True
        timer.start()
        stack.callback(timer.join)
        stack.callback(timer.cancel)


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
