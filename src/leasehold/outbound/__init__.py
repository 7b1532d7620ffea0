"""The guard of every connection that this package opens to a host somebody else named.

    policy = ExchangePolicy(seconds=30, body_bytes_max=65_536)
    response = exchange(Target.parse(url), Request("POST", headers, body), policy)

One deadline for the whole exchange, a limit on the body, addresses checked before the connection (a private one is
refused unless the policy permits it), TLS with verified certificates, redirects returned and never followed. Only the
standard library is used. Callers with a client of their own use the parts: `connect`, `proxy_for`.
"""

from leasehold.outbound.addresses import any_address, ascii_host, is_loopback, is_public
from leasehold.outbound.errors import AddressForbidden, NoResponse, NotConnected, OutboundError
from leasehold.outbound.exchange import BodyEnd, Deadline, ExchangePolicy, Request, Response, connect, exchange
from leasehold.outbound.quote import is_one_line, one_line, quoted
from leasehold.outbound.target import PORTS, Proxy, Target, is_loopback_host, proxy_for

__all__ = ["PORTS", "BodyEnd", "ExchangePolicy", "Proxy", "Request", "Response", "Target", "exchange", "proxy_for"]
__all__ += ["AddressForbidden", "Deadline", "NoResponse", "NotConnected", "OutboundError", "connect", "is_one_line"]
__all__ += ["any_address", "ascii_host", "is_loopback", "is_loopback_host", "is_public", "one_line", "quoted"]
