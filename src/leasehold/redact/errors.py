"""The one error of redaction. It never carries the text that was to be cleaned."""

from leasehold.errors import Broken


class RedactionFailed(Broken, code="REDACTION_FAILED"):
    """The text could not be cleaned; do not store, log or send it."""
