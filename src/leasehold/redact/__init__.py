"""Takes secrets out of text before it is kept, logged or sent: the same text always gives the same result.

`scrub` is for this process (default policy and the values given to `register`); a `Redactor` follows its own policy.
Whatever goes wrong inside raises `RedactionFailed`: the raw text is never handed back, so a failure blocks what it was
to clean. Pure text work: no I/O, no clock, no randomness.
"""

from typing import TYPE_CHECKING, Any

from leasehold.redact.errors import RedactionFailed
from leasehold.redact.policy import Policy
from leasehold.redact.process import guarded, register, registered, scrub

if TYPE_CHECKING:
    from leasehold.redact.redactor import Redacted, Redactor

__all__ = ["Policy", "Redacted", "RedactionFailed", "Redactor", "guarded", "register", "registered", "scrub"]


def __getattr__(name: str) -> Any:
    """Load the patterns when they are asked for: most processes hide nothing."""
    if name in ("Redacted", "Redactor"):
        from leasehold.redact import redactor

        return getattr(redactor, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
