"""Why a tree of jobs was cancelled: one reason for all its tasks, so that each end names the request. Pure."""

from leasehold import canonical
from leasehold.model.effect import sha256
from leasehold.model.failure.facts import Facts
from leasehold.model.failure.failure import Failure
from leasehold.model.limits import REQUEST_LENGTH_MAX
from leasehold.model.names import check_text

BY_SUBMITTER = "cancelled by its submitter"
DIGITS = 16


def cancel_reason(kind: str, key: str, reason: str, request: str | None) -> Failure:
    """Return why a job, its tasks and all jobs below it are cancelled.

    `request` identifies the request; without one, a digest of the job and the reason does, the same on every machine.
    """
    if request is None:
        request = sha256(canonical.encode({"key": key, "kind": kind, "reason": reason}))[:DIGITS]
    check_text(request, REQUEST_LENGTH_MAX, "The name of a request")
    context: Facts = {"cancel_request": request, "cancelled_job": f"{kind} {key}"}
    return Failure("CANCELLED", reason or BY_SUBMITTER, context=context)
