"""Why children end otherwise than well: each code of an end, explained, with what to do."""

from typing import Final

from leasehold.pipelines.agents.errors import ChildCode
from leasehold.pipelines.agents.view.values import ChildStatus

UNEXPLAINED: Final = "The child was refused with this code; the reason in its end has the details."
STATUSES: Final = {
    ChildCode.BUDGET_EXCEEDED: ChildStatus.OVER_BUDGET,
    ChildCode.CANCELLED: ChildStatus.CANCELLED,
    ChildCode.LEASE_ORPHANED: ChildStatus.LOST,
    ChildCode.TERMINATED_ON_RESTART: ChildStatus.LOST,
    "URM_CHILD_STOPPED": ChildStatus.STOPPED,
    "URM_CHILD_PREREQUISITE_FAILED": ChildStatus.SKIPPED,
}
EXPLANATIONS: Final = {
    ChildCode.BUDGET_EXCEEDED: "A debit did not fit into what was left of the session's budget. It was refused,"
    " nothing of it was counted, and the child was ended at once. Raise the budget, or give the child less to do.",
    ChildCode.CANCELLED: "Somebody cancelled the child. Its end names the request, which stands before it in the"
    " events.",
    ChildCode.LEASE_ORPHANED: "The coordinator ended before the child was started, so the child never ran. It is not"
    " dispatched again by itself; --again spawns it as a new child.",
    ChildCode.TERMINATED_ON_RESTART: "The coordinator ended while the child ran, and the child ended with it. It is"
    " not dispatched again by itself; --again spawns it as a new child.",
    "URM_CHILD_FAILED": "The command ended with another exit code than 0, or with a signal, or reported an error.",
    "URM_CHILD_TIMED_OUT": "The child took longer than its time-out and was stopped with everything below it.",
    "URM_CHILD_STOPPED": "The session was stopped while the child waited or ran.",
    "URM_CHILD_PREREQUISITE_FAILED": "A child that it was to run after did not pass, so it was not started.",
    "URM_CHILD_NOT_STARTED": "The command could not be started: it is not there, or may not be executed.",
    "URM_CHILD_PROTOCOL_INVALID": "The child sent a message that breaks the protocol, and was killed.",
    "URM_CHILD_EVIDENCE_UNWRITABLE": "What the child printed could not be written to disk.",
}


def status_of_end(code: str | None) -> ChildStatus:
    """Return how a child ended that has ended; without a code it passed."""
    return STATUSES.get(code, ChildStatus.FAILED) if code else ChildStatus.PASSED


def explain_code(code: str) -> str:
    return EXPLANATIONS.get(code, UNEXPLAINED)
