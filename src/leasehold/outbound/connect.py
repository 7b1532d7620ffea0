"""Connecting to a host by an address that was checked first. A name is resolved once."""

import socket

from leasehold.outbound.addresses import Permit, Resolver, check_addresses
from leasehold.outbound.deadline import Deadline
from leasehold.outbound.errors import NotConnected


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
