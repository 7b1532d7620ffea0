"""Connecting to a host by an address that was checked first, and the end of an exchange, whatever the peer does.

A name is resolved once. A peer that sends a byte now and then cannot hold a worker for ever.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator

from leasehold import clock
from leasehold.outbound.addresses import Permit, Resolver, check_addresses
from leasehold.outbound.errors import NotConnected


class Deadline:
    def __init__(self, seconds: float) -> None:
        self._ends = clock.uptime() + clock.microseconds(seconds)
        self._has_cut = False

    @property
    def is_over(self) -> bool:
        """Whether the time has passed, or a connection was already shut down because of it."""
        return self._has_cut or clock.uptime() >= self._ends

    def left(self) -> float:
        """Return the seconds that are left, or raise `TimeoutError` if there are none."""
        left = (self._ends - clock.uptime()) / clock.SECOND
        if left <= 0:
            raise TimeoutError("the time limit is over")
        return left

    @contextlib.contextmanager
    def guard(self, connection: socket.socket) -> Iterator[None]:
        """Shut the connection down if the block has not ended in time; a blocked read or write then fails.

        Raises `NotConnected` if no time is left or the timer cannot be started: the block has not begun.
        """
        with contextlib.ExitStack() as stack:
            try:
                self._start_timer(connection, stack)
            except (OSError, RuntimeError) as error:
                is_timeout = isinstance(error, TimeoutError)
                raise NotConnected(f"the time limit cannot be enforced: {error}", is_timeout=is_timeout) from None
            yield

    def _start_timer(self, connection: socket.socket, stack: contextlib.ExitStack) -> None:
        # A second descriptor of the same connection: TLS may take the first one over, and the timer never touches it.
        twin = socket.fromfd(connection.fileno(), connection.family, connection.type)
        stack.callback(twin.close)
        timer = threading.Timer(self.left(), self._shut, [twin])
        timer.daemon = True
        timer.start()
        stack.callback(timer.join)
        stack.callback(timer.cancel)

    def _shut(self, connection: socket.socket) -> None:
        self._has_cut = True
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def connect(host: str, port: int, *, permit: Permit, resolver: Resolver, deadline: Deadline) -> socket.socket:
    """Connect, or raise `NotConnected`; `AddressForbidden` if one of the host's addresses is not permitted."""
    try:
        addresses = check_addresses(host, resolver(host, port), permit)
    except (OSError, ValueError) as error:
        raise NotConnected(f"{host} cannot be resolved: {error}") from None
    failure: Exception = OSError("it has no address")
    for address in addresses:
        try:
            return socket.create_connection((str(address), port), timeout=deadline.left())
        except OSError as error:
            failure = error
    is_timeout = isinstance(failure, TimeoutError)
    raise NotConnected(f"{host} port {port} cannot be reached: {failure}", is_timeout=is_timeout) from None
