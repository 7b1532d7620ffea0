"""Takes secrets out of text before it is kept, logged or sent: the same text always gives the same result.

`scrub` is for this process (default policy and the values given to `register`); a `Redactor` follows its own policy.
Whatever goes wrong inside raises `RedactionFailed`: the raw text is never handed back, so a failure blocks what it was
to clean. Pure text work: no I/O, no clock, no randomness.
"""

from leasehold.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "policy": ["Policy", "RedactionFailed"],
        "process": ["guarded", "redact_guarded", "register", "registered", "scrub"],
        "redactor": ["Redacted", "Redactor"],
    },
)
