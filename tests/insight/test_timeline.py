"""A job in full, read from both databases in the database's own time."""

import pytest

from leasehold.errors import JobUnknown
from leasehold.insight.read import timeline
from leasehold.model.lanes import Lane
from leasehold.model.lease import Progress
from leasehold.model.task import Submission, Terms
from leasehold.runtime.process_identity import this_process
from leasehold.testing import Clock

LANE = [Lane("default", 0, 0, 0)]


def test_a_running_task_is_read_with_its_holder_and_its_progress(store):
    clock, me = Clock(store), this_process()
    (job,) = store.tasks.submit([Submission("act", "a", '{"n":1}', Terms(lease_ms=30_000))])
    (lease,) = store.leases.claim(store.workers.register(me), LANE, '["act"]', 1).leases
    store.leases.record_progress([Progress(lease.task_id, lease.fence, '{"done":1,"total":4}')])
    clock.advance(12)
    found = timeline.read(store, job.id)
    (part,) = found.parts
    assert (part.status, part.attempt, part.attempts_max, part.progress) == ("RUNNING", 1, 5, {"done": 1, "total": 4})
    assert part.holder == timeline.Holder(me.host, me.pid, fence=1, expires_in=18.0, held_for=12.0)
    clock.advance(20)
    (late,) = timeline.read(store, job.id).parts
    assert (late.holder and late.holder.expires_in) == -2.0


def test_the_journal_counts_from_the_submit_and_its_latest_lines_are_kept(store):
    clock = Clock(store)
    (job,) = store.tasks.submit([Submission("act", "a", "{}", Terms())])
    clock.advance(2.5)
    store.leases.claim(store.workers.register(this_process()), LANE, '["act"]', 1)
    found = timeline.read(store, job.id)
    assert [(line.since, line.name) for line in found.moments] == [(0.0, "submitted"), (2.5, "claimed")]
    short = timeline.read(store, job.id, lines=1)
    assert ([line.name for line in short.moments], short.earlier) == (["claimed"], 1)
    assert timeline.read(store, job.id, lines=0).earlier == 2


def test_a_task_that_waits_for_its_time_is_read_with_how_long_it_waits(store):
    Clock(store)
    (job,) = store.tasks.submit([Submission("act", "a", "{}", Terms(), delay_us=60_000_000)])
    (part,) = timeline.read(store, job.id).parts
    assert (part.status, part.due_in, part.holder) == ("NEW", 60.0, None)


def test_a_job_that_is_not_there_cannot_be_read(store):
    with pytest.raises(JobUnknown):
        timeline.read(store, 4711)
