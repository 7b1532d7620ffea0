"""Explain a job: read what holds it up, look for its workers, decide."""

from leasehold.errors import JobUnknown
from leasehold.insight.explain import decide
from leasehold.insight.explain.explanation import Explanation
from leasehold.insight.explain.workers import IsGone, find_alive
from leasehold.insight.read import deadletters
from leasehold.model.owner import Owner
from leasehold.store import Store


def explain(store: Store, job_id: int, me: Owner, is_gone: IsGone) -> Explanation:
    """Explain why a job does not run, or how it ended; `JobUnknown` if there is none.

    `me` is this process, and `is_gone` returns whether a process of this host has ended.
    """
    standing = store.holdups.of(job_id)
    if standing is None:
        raise JobUnknown(f"The id is {job_id}.")
    letters = deadletters.of_job(store, job_id) if standing.job.status == "ERROR" else []
    return decide.explain(standing, find_alive(standing.workers, standing.job.now, me, is_gone), letters)
