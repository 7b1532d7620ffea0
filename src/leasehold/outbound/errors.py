"""Why an exchange has no response, by what is certain about the request.

OutboundError
├── NotConnected        no byte of the request was sent
│   └── AddressForbidden
└── NoResponse          it may have been sent, and processed
"""


class OutboundError(Exception):
    """No response was received. `is_timeout`: because the deadline passed.

    `needs_operator`: a certificate or a proxy has to be repaired first.
    """

    def __init__(self, reason: str, *, is_timeout: bool = False, needs_operator: bool = False) -> None:
        super().__init__(reason)
        self.is_timeout = is_timeout
        self.needs_operator = needs_operator


class NotConnected(OutboundError):
    """No byte of the request was sent."""


class AddressForbidden(NotConnected):
    """The host has an address that the policy does not permit."""


class NoResponse(OutboundError):
    """The request was sent, at least in part, and no response came: it may have been processed."""
