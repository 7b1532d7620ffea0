"""Hosts and the addresses behind them: which spelling is a host's name, and which addresses may be connected to."""

import ipaddress
import re
import socket
import unicodedata
from collections.abc import Callable, Sequence
from typing import Final

from leasehold.outbound.errors import AddressForbidden

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Permit = Callable[[Address], bool]
Resolver = Callable[[str, int], Sequence[str]]

HOST_LENGTH_MAX: Final = 253
_HOST: Final = re.compile(r"(?!.*-(?:\.|$))(?:[a-z0-9_][a-z0-9_-]{0,62}\.)*[a-z0-9_][a-z0-9_-]{0,62}")
_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_NEVER_PUBLIC: Final = [ipaddress.ip_network(network) for network in ("192.88.99.0/24", "3fff::/20")]


def ascii_host(name: str) -> str:
    """Return a host's name in the ASCII form that DNS carries; `ValueError` for what cannot be one."""
    host = name.lower()
    if not host.isascii():
        # The standard library encodes names by the rules of 2003, which turn ß into ss: another host. Refuse these.
        host = host.encode("idna").decode("ascii")
        if host.encode("ascii").decode("idna") != unicodedata.normalize("NFC", name.lower()):
            raise ValueError("the host has characters that have two spellings; write it in its xn-- form")
    if len(host) > HOST_LENGTH_MAX or not _HOST.fullmatch(host):
        raise ValueError("the host is not a name")
    return host


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, also when it carries another one inside."""
    if address.is_multicast or any(address in network for network in _NEVER_PUBLIC):
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global
    if address in _NAT64:
        return is_public(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    if address.sixtofour is not None and not is_public(address.sixtofour):
        return False
    return address in _UNICAST and address.is_global


def is_loopback(address: Address) -> bool:
    return address.is_loopback


def any_address(_address: Address) -> bool:
    return True


def address_of(host: str) -> Address | None:
    """Return the address that a URL names in place of a host's name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def resolve(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def check_addresses(host: str, addresses: Sequence[str], permit: Permit) -> list[Address]:
    """Return a host's addresses if all of them are permitted, else raise `AddressForbidden`.

    Connect to one of exactly these: a name that resolves differently a second time (DNS rebinding) gains nothing.
    """
    found = [ipaddress.ip_address(text) for text in addresses]
    for address in found:
        if not permit(address):
            raise AddressForbidden(f"{host} resolves to {address}, which is not a permitted address.")
    return found
