"""What the journal holds about each task, counted by the database: the basis of the tour's verdict."""

from leasehold import canonical
from leasehold.model import lease as endings
from leasehold.model.failure.failure import Failure
from leasehold.model.failure.loss import Reclaim
from leasehold.model.lanes import Lane
from leasehold.model.lease import Lease
from leasehold.model.task import Submission, Terms
from leasehold.runtime.process_identity import this_process
from leasehold.store import Store
from leasehold.store.reports import JournalCounts

LANE = [Lane("default", 0, 0, 0)]


def claimed(store: Store) -> Lease:
    (lease,) = store.leases.claim(store.workers.register(this_process()), LANE, '["act"]', 1).leases
    return lease


def vacated(store: Store, lease: Lease, why: str) -> None:
    assert store.leases.reclaim([Reclaim(lease.task_id, lease.fence, why)])  # type: ignore[arg-type]


def submitted(store: Store, key: str, **terms) -> int:
    return store.tasks.submit([Submission("act", key, "{}", Terms(**terms))])[0].id


def test_claims_releases_reclaims_and_the_end_are_counted_once_each(store):
    job = submitted(store, "a")
    vacated(store, claimed(store), "released")
    vacated(store, claimed(store), "owner gone")
    store.leases.settle([endings.done(claimed(store), "null")])
    (history,) = store.reports.journal_counts()
    assert history == JournalCounts(job, job, "DONE", 3, outcomes=1, claims=3, releases=1, reclaims=1, endings=1)


def test_a_lease_that_was_lost_for_good_counts_as_an_end(store):
    job = submitted(store, "a", on_lost="bury")
    vacated(store, claimed(store), "owner gone")
    (history,) = store.reports.journal_counts()
    assert history == JournalCounts(job, job, "ERROR", 1, outcomes=1, claims=1, releases=0, reclaims=1, endings=1)


def test_a_cancel_is_an_end_and_what_has_not_ended_has_none(store):
    cancelled, waiting = submitted(store, "a"), submitted(store, "b")
    store.tasks.cancel(cancelled, canonical.encode({"error_class": "CANCELLED", "message": ""}))
    assert [(one.task_id, one.status, one.endings) for one in store.reports.journal_counts()] == [
        (cancelled, "CANCELLED", 1),
        (waiting, None, 0),
    ]


def test_a_retry_is_no_end_and_histories_come_in_pages(store):
    jobs = [submitted(store, key) for key in "abc"]
    store.leases.settle([endings.retried(claimed(store), Failure("TRANSIENT", "later"), 0, "{}")])
    first = store.reports.journal_counts(most=2)
    rest = store.reports.journal_counts(first[-1].task_id, most=2)
    assert [one.task_id for one in first + rest] == jobs
    assert (first[0].claims, first[0].endings, first[0].status) == (1, 0, None)
    assert store.reports.journal_counts(jobs[-1]) == []


def test_each_epoch_of_a_revived_task_ends_once_and_the_revival_is_counted(store):
    job = submitted(store, "a")
    store.leases.settle([endings.failed(claimed(store), Failure("BUG", "no"))])
    (letter,) = store.deadletters.of(job)
    store.deadletters.evidence(letter.id, "ada", {"text": "fixed"})
    store.deadletters.revive(letter.id, "ada")
    store.leases.settle([endings.done(claimed(store), "null")])
    (history,) = store.reports.journal_counts()
    counts = {"outcomes": 2, "claims": 2, "releases": 0, "reclaims": 0, "endings": 2, "revivals": 1}
    assert history == JournalCounts(job, job, "DONE", 2, **counts)
