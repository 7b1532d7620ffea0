from leasehold.redact.policy import Policy, RedactionFailed
from leasehold.redact.process import guarded, redact_guarded, register, registered, scrub
from leasehold.redact.redactor import Redacted, Redactor

__all__ = [
    "Policy",
    "Redacted",
    "RedactionFailed",
    "Redactor",
    "guarded",
    "redact_guarded",
    "register",
    "registered",
    "scrub",
]
