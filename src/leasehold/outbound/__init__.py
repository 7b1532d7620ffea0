"""The guard of every connection that this package opens to a host somebody else named.

    response = exchange(Target.parse(url), Request("POST", headers, body), Policy(seconds=30, body_bytes_max=65_536))

One deadline for the whole exchange, a limit on the body, addresses checked before the connection (a private one is
refused unless the policy permits it), TLS with verified certificates, redirects returned and never followed. Only the
standard library is used. Callers with a client of their own use the parts: `resolve`, `check_addresses`, `proxy_for`.
"""

from leasehold.outbound.addresses import (
    Address,
    Permit,
    Resolver,
    any_address,
    ascii_host,
    check_addresses,
    is_loopback,
    is_loopback_host,
    is_public,
    resolve,
)
from leasehold.outbound.connect import connect
from leasehold.outbound.deadline import Deadline
from leasehold.outbound.errors import AddressForbidden, NoResponse, NotConnected, OutboundError
from leasehold.outbound.exchange import BodyEnd, ExchangePolicy, Request, Response, exchange
from leasehold.outbound.proxy import Proxy, proxy_for
from leasehold.outbound.quote import is_one_line, one_line, quoted
from leasehold.outbound.target import Target

__all__ = [
    "Address",
    "AddressForbidden",
    "BodyEnd",
    "Deadline",
    "ExchangePolicy",
    "NoResponse",
    "NotConnected",
    "OutboundError",
    "Permit",
    "Proxy",
    "Request",
    "Resolver",
    "Response",
    "Target",
    "any_address",
    "ascii_host",
    "check_addresses",
    "connect",
    "exchange",
    "is_loopback",
    "is_loopback_host",
    "is_one_line",
    "is_public",
    "one_line",
    "proxy_for",
    "quoted",
    "resolve",
]
