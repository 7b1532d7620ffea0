"""Connecting to a host by an address that was looked at first.

A name is resolved once. Every address it leads to must be permitted, and the connection goes to one of exactly these
addresses: a name that changes its mind between the check and the connection (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
from collections.abc import Callable, Sequence
from typing import Final

from leasehold.model.delivery import NotSent, Refused
from leasehold.providers.deadline import Deadline
from leasehold.providers.verdicts import quoted

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Permit = Callable[[Address], bool]
Resolver = Callable[[str, int], Sequence[str]]

HOST_LENGTH_MAX: Final = 253
_HOST: Final = re.compile(r"(?!.*-(?:\.|$))(?:[a-z0-9_][a-z0-9_-]{0,62}\.)*[a-z0-9_][a-z0-9_-]{0,62}")
_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_NEVER: Final = [ipaddress.ip_network(network) for network in ("192.88.99.0/24", "3fff::/20")]


def host_of(name: str) -> str:
    """Return a host's name as DNS carries it; `ValueError` for what cannot be one."""
    host = name.lower()
    if not host.isascii():
        # The standard library writes names by the rules of 2003, which turn ß into ss: another host. Such are refused.
        host = host.encode("idna").decode("ascii")
        if host.encode("ascii").decode("idna") != unicodedata.normalize("NFC", name.lower()):
            raise ValueError("the host has characters that have two spellings; write it in its xn-- form")
    if len(host) > HOST_LENGTH_MAX or not _HOST.fullmatch(host):
        raise ValueError("the host is not a name")
    return host


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, also when it carries another one inside."""
    if address.is_multicast or any(address in network for network in _NEVER):
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global
    if address in _NAT64:
        return is_public(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    if address.sixtofour is not None and not is_public(address.sixtofour):
        return False
    return address in _UNICAST and address.is_global


def is_loopback(address: Address) -> bool:
    """Whether an address never leaves this machine."""
    return address.is_loopback


def anywhere(_address: Address) -> bool:
    """Permit every address."""
    return True


def resolve(host: str, port: int) -> list[str]:
    """Ask the system for the addresses of a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def dial(host: str, port: int, *, permit: Permit, resolver: Resolver, deadline: Deadline) -> socket.socket:
    """Connect, or raise `NotSent`; `Refused` if the name leads to an address that is not permitted."""
    try:
        addresses = [ipaddress.ip_address(text) for text in resolver(host, port)]
    except (OSError, ValueError) as error:
        raise NotSent(f"{host} cannot be resolved: {quoted(error)}") from None
    for address in addresses:
        if not permit(address):
            raise Refused(f"{host} leads to {address}, where this provider may not connect.")
    why: BaseException | str = "it has no address"
    for address in addresses:
        try:
            return socket.create_connection((str(address), port), timeout=deadline.left())
        except OSError as error:
            why = error
    raise NotSent(f"{host} port {port} cannot be reached: {quoted(str(why))}")
