"""A user's failed attempt as a value: what kind of failure, whether to try again, and what a person needs to read.

`classify` is the one classifier. It is pure: any exception goes in, a `Failure` that can be stored comes out.
A pipeline's own rules come first, then an HTTP response or another code that the error carries, then what it wraps,
then the names of its classes (`failure/named.py`), then the error number. An unknown error is retried.
"""

from typing import Any, Final

from msgspec import Struct

from leasehold import canonical
from leasehold.errors import number_text
from leasehold.model.failure.classify import classify_error
from leasehold.model.failure.facts import Facts, facts_of, trouble_of
from leasehold.model.failure.verdict import Rule, pause
from leasehold.model.failure.wording import Redactor, describe
from leasehold.redact import scrub


class Failure(Struct, frozen=True, omit_defaults=True):
    """Why an attempt failed. `error_class` is stable; `message` and `stack` are for people, `context` for both.

    `retry_after` is what the handler asked for, `server_retry_after` what a server's `Retry-After` did.
    """

    error_class: str
    message: str
    retryable: bool = False
    retry_after: float = 0.0
    server_retry_after: float = 0.0
    stack: str = ""
    context: Facts = {}

    def text(self, raised: list[str] | None = None) -> str:
        """Return the failure as canonical JSON, as it is stored; `raised` names the types of what was raised."""
        fields: dict[str, Any] = {"error_class": self.error_class, "message": self.message, "retryable": self.retryable}
        names = ("retry_after", "server_retry_after", "stack", "context")
        more = {**{name: getattr(self, name) for name in names}, "raised": raised}
        return canonical.encode(fields | {name: value for name, value in more.items() if value})


WORKER_LOST: Final = Failure("WORKER_CRASHED", "its worker died or stopped renewing the lease, and on_lost is 'bury'")


def too_late(seconds: float) -> Failure:
    """Return why a job ended that had not ended by its deadline."""
    context: Facts = {"ended_by": "deadline"}
    message = f"the job had not ended by its deadline, {number_text(seconds)} s after its submit"
    return Failure("TIMEOUT", message, context=context)


MESSAGE_STANDS: Final = Failure(
    "DELIVERY_CONFLICT",
    "another message stands under the same subject, recipient and version; deliver under a higher version",
)


def classify(
    error: BaseException, rules: tuple[Rule, ...] = (), now: int | None = None, *, redact: Redactor = scrub
) -> Failure:
    """Turn what a handler raised into a `Failure`; any exception can be recorded.

    `now` (microseconds since 1970) is for a `Retry-After` that is a date, in a response without a `Date`.
    """
    classification, troubles = classify_error(error, rules, now)
    found = classification.verdict
    message, stack = describe(error, redact)
    context = facts_of(classification.about, redact)
    if troubles:
        context["rule_error"] = trouble_of(troubles[0], redact)
    delays = (pause(found.retry_after), pause(classification.server_retry_after)) if found.retryable else (0.0, 0.0)
    return Failure(found.error_class, message, found.retryable, *delays, stack, context)
