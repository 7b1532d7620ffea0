"""`task.started_at`: the time of the claim by the database's clock, whatever happens to the lease afterwards."""

from datetime import UTC, timedelta

from leasehold import Retry, Transient, clock
from tests.support.db import rows
from tests.support.processes.local_worker import run_worker
from tests.support.wait import until

LEASE = 0.6


def claims(url: str, job_id: int) -> list[int]:
    found = rows(url, f"SELECT at FROM event WHERE task_id = {job_id} AND name = 'claimed' ORDER BY id")  # noqa: S608
    return [row[0] for row in found]


def test_it_is_the_time_of_the_claim_and_no_renewal_moves_it(app, url):
    seen = []

    @app.job(lease=LEASE)
    def stay(task):
        def expires_at() -> int:
            return rows(url, f"SELECT expires_at FROM lease WHERE task_id = {task.lease.task_id}")[0][0]  # noqa: S608

        seen.append(task.started_at)
        first = expires_at()
        until(lambda: expires_at() > first)
        seen.append(task.started_at)

    job = stay.submit()
    with run_worker(url, stay):
        assert job.wait(timeout=60).status == "DONE"
    (claimed,) = claims(url, job.id)
    assert seen == [clock.moment(claimed)] * 2
    assert seen[0].tzinfo is UTC
    assert abs(seen[0] - job.created_at) < timedelta(minutes=1)


def test_every_attempt_has_its_own(app, url):
    seen = []

    @app.job(retry=Retry(attempts=3, delay_initial=0))
    async def again(task):
        seen.append(task.started_at)
        if task.attempt < 3:
            raise Transient("again")

    job = again.submit()
    app.drain(timeout=60)
    assert job.status == "DONE"
    assert seen == [clock.moment(at) for at in claims(url, job.id)]
    assert len(set(seen)) == 3


def test_a_task_of_a_limited_queue_has_it_too(app, url):
    seen = []

    @app.job(queue="narrow")
    def one(task):
        seen.append(task.started_at)

    app.queues.limit("narrow", 1)
    job = one.submit()
    app.drain(timeout=60)
    assert seen == [clock.moment(at) for at in claims(url, job.id)]
