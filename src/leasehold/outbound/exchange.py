"""One HTTP/1.1 request and its response, under a policy. Each exchange has a connection of its own.

It is connected by an address that was checked first: a name is resolved once. And it ends, whatever the peer does: one
that sends a byte now and then cannot hold a worker for ever.
"""

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from enum import Enum, auto

from leasehold import clock
from leasehold.outbound.addresses import Permit, Resolver, any_address, check_addresses, is_public, resolve
from leasehold.outbound.errors import NoResponse, NotConnected
from leasehold.outbound.target import Proxy, Target, open_tunnel, proxy_for


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
        if (left := (self._ends - clock.uptime()) / clock.SECOND) <= 0:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangePolicy:
    """Limits of an exchange: `seconds` for all of it, `connect_seconds` for its connection, bytes of the body.

    Only public addresses are connected to unless `permit` allows others. With `use_proxy` an https target is reached
    through the proxy of the environment; the proxy's own address is the operator's choice and not checked.
    """

    seconds: float
    body_bytes_max: int
    connect_seconds: float | None = None
    permit: Permit = is_public
    resolver: Resolver = resolve
    context: ssl.SSLContext | None = None
    use_proxy: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    headers: Mapping[str, str]
    body: bytes | None = None


class BodyEnd(Enum):
    COMPLETE = auto()
    TOO_LONG = auto()
    BROKEN_OFF = auto()
    TIMED_OUT = auto()


@dataclass(frozen=True, slots=True)
class Response:
    """What came back; `body` is as much of it as was read within the policy's limits."""

    status: int
    headers: Message
    body: bytes
    end: BodyEnd


def exchange(target: Target, request: Request, policy: ExchangePolicy) -> Response:
    """Send one request and return its response, whatever the status; redirects are not followed.

    `NotConnected` if no byte of the request was sent, `NoResponse` if one may have been and no response came.
    """
    deadline = Deadline(policy.seconds)
    proxy = proxy_for(target) if policy.use_proxy and target.is_secure else None
    with contextlib.closing(_connect(target, proxy, policy, deadline)) as raw, deadline.guard(raw):
        if proxy is not None:
            open_tunnel(raw, target, proxy)
        with contextlib.closing(_secure(raw, target, policy, deadline)) as channel:
            connection = http.client.HTTPConnection(target.host, target.port)
            connection.sock = channel
            with contextlib.closing(_response(connection, target, request, deadline)) as response:
                body, end = _body(response, policy.body_bytes_max, deadline)
                return Response(response.status, response.headers, body, end)


def _connect(target: Target, proxy: Proxy | None, policy: ExchangePolicy, deadline: Deadline) -> socket.socket:
    limit = deadline if policy.connect_seconds is None else Deadline(min(policy.connect_seconds, policy.seconds))
    if proxy is not None:
        return connect(proxy.host, proxy.port, permit=any_address, resolver=resolve, deadline=limit)
    return connect(target.host, target.port, permit=policy.permit, resolver=policy.resolver, deadline=limit)


def _secure(raw: socket.socket, target: Target, policy: ExchangePolicy, deadline: Deadline) -> socket.socket:
    raw.settimeout(policy.seconds)  # instead of the time that was left to connect; the guard keeps the deadline
    if not target.is_secure:
        return raw
    try:
        context = policy.context or ssl.create_default_context()
        return context.wrap_socket(raw, server_hostname=target.host)
    except ssl.CertificateError as error:
        raise NotConnected(f"TLS: {error}", needs_operator=True) from None
    except (OSError, ValueError) as error:
        raise NotConnected(f"TLS: {error}", is_timeout=deadline.is_over) from None


def _response(
    connection: http.client.HTTPConnection, target: Target, request: Request, deadline: Deadline
) -> http.client.HTTPResponse:
    headers = {"Host": target.authority, "Connection": "close", "User-Agent": "leasehold", **request.headers}
    try:
        # A peer may answer and hang up before it has read everything: the answer counts, if it can still be read.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.request(request.method, target.path, request.body, headers)
        return connection.getresponse()
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = f"The request was sent, but no response came: {type(error).__name__} {error}"
        raise NoResponse(reason, is_timeout=deadline.is_over or isinstance(error, TimeoutError)) from None


def _body(response: http.client.HTTPResponse, bytes_max: int, deadline: Deadline) -> tuple[bytes, BodyEnd]:
    try:
        body = response.read(bytes_max + 1)
    except (OSError, ValueError, http.client.HTTPException) as error:
        is_timeout = deadline.is_over or isinstance(error, TimeoutError)
        return b"", BodyEnd.TIMED_OUT if is_timeout else BodyEnd.BROKEN_OFF
    if len(body) > bytes_max:
        return body[:bytes_max], BodyEnd.TOO_LONG
    if deadline.is_over:  # a connection that was shut down looks like a body without a length that has ended
        return body, BodyEnd.TIMED_OUT
    return body, BodyEnd.BROKEN_OFF if response.length else BodyEnd.COMPLETE
