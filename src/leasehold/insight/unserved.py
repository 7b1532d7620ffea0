"""Ready tasks that no live worker can run, for the doctor."""

from collections.abc import Sequence

from leasehold.insight.explain.decide import unserved
from leasehold.insight.explain.workers import IsGone, LiveWorkers, find_alive
from leasehold.insight.finding import Finding, Grade, ok
from leasehold.insight.wording import several
from leasehold.model.owner import Owner
from leasehold.store import Store
from leasehold.store.holdups import ReadyRoute

NAME = "unserved"


def find_unserved(store: Store, now: int, me: Owner, is_gone: IsGone) -> Finding:
    """Read what is ready and who is alive, and compare."""
    return check_unserved(store.holdups.ready(), find_alive(store.workers.all(), now, me, is_gone))


def check_unserved(ready: Sequence[ReadyRoute], workers: LiveWorkers) -> Finding:
    """Find the queues and kinds that have ready tasks and nobody to run them."""
    found = [(one, nobody) for one in ready if (nobody := unserved(one.route, one.queue, workers)) is not None]
    if not found:
        return ok(NAME, "a live worker serves everything that is ready" if ready else "nothing is ready")
    text = several([f"{one.tasks:,} of '{one.route}' in queue '{one.queue}': {nobody.why}" for one, nobody in found])
    one, nobody = found[0]
    return Finding(NAME, Grade.WARN, text, f"{nobody.advice} See `leasehold explain {one.job_id}`.")
