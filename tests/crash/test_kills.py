"""Worker processes killed, stopped and cut off among thousands of tasks: nothing lost, nothing settled twice."""

import random
import signal
import threading
from collections import Counter

import pytest

from tests.support.db import check_journal, check_places, names, rows
from tests.support.processes.stopped import has_stopped
from tests.support.wait import until


def settled(url):
    return rows(url, "SELECT count(*) FROM outcome")[0][0]


def await_settled(url, count):
    until(lambda: settled(url) >= count, timeout=180)


def check_all_done(url, workers, numbers):
    """S3: every acknowledged submit ran and is DONE once, by the handlers' own journal and by the database."""
    assert rows(url, "SELECT status, count(*) FROM outcome GROUP BY status") == [("DONE", len(numbers))]
    ran = Counter(int(number) for _, number in workers.journal("ran"))
    assert set(numbers) <= ran.keys()
    assert rows(url, "SELECT task_id FROM event WHERE name = 'done' GROUP BY task_id HAVING count(*) > 1") == []
    check_places(url)
    check_journal(url)


def check_kills(app, workers, url, count, kills):
    dice = random.Random(7)
    for _ in range(3):
        workers.start(concurrency=20)
    app.submit_many("slow", [{"number": number} for number in range(count)])
    for kill in range(1, kills + 1):
        await_settled(url, kill * count // (kills + 2))
        dice.choice([worker for worker in workers.started if worker.running]).kill()
        workers.start(concurrency=20)
    await_settled(url, count)
    check_all_done(url, workers, range(count))


def test_s3_s5_workers_killed_among_thousands_of_tasks_lose_nothing_and_settle_nothing_twice(app, workers, url):
    check_kills(app, workers, url, count=3_000, kills=4)
    repeated = rows(url, "SELECT count(*) FROM event WHERE name = 'reclaimed'")[0][0]
    assert len(workers.journal("ran")) <= 3_000 + repeated
    assert repeated > 0


@pytest.mark.soak
def test_s3_s5_workers_killed_for_minutes_lose_nothing_and_settle_nothing_twice(app, workers, url):
    check_kills(app, workers, url, count=60_000, kills=60)


def await_journal(workers, segments):
    until(lambda: len(workers.journal("ran", "audio")) >= segments, timeout=120)


def test_s7_a_pipeline_goes_on_where_its_killed_workers_left_it(app, workers, url):
    """Segments are numbered without gaps and each has one outcome, no matter which workers made and ran them."""
    workers.start()
    jobs = app.submit_many("film", [{"scenes": 20}] * 4)
    for count in (15, 30, 45):
        await_journal(workers, count)
        workers.start()
        workers.started[-2].kill()
    assert [job.wait(timeout=120).status for job in jobs] == ["DONE"] * 4
    assert {tuple(job.output["render"]["audio"]) for job in jobs} == {tuple(range(0, 200, 10))}
    segments = rows(url, "SELECT parent_id, segment FROM task WHERE segment IS NOT NULL ORDER BY parent_id, segment")
    assert [segment for _, segment in segments] == list(range(20)) * 4
    check_places(url)
    check_journal(url)


def test_s2_a_worker_stopped_past_its_lease_wakes_up_and_changes_nothing(app, workers, url):
    short = {"WORKSHOP_LEASE": "2"}
    sleeper = workers.start(environment=short)
    job = app.submit("stubborn", {"name": "a"})
    until(lambda: workers.journal("start", "a", 1))
    sleeper.signal(signal.SIGSTOP)
    taker = workers.start(environment=short)
    until(lambda: workers.journal("start", "a", 2))
    workers.open("a-2")
    assert job.wait(timeout=60).output == {"attempt": 2, "pid": taker.pid}
    finished = job.finished_at
    workers.open("a-1")
    sleeper.signal(signal.SIGCONT)
    until(lambda: workers.journal("end", "a", 1))
    until(lambda: sleeper.has_logged("lease_lost"))
    assert app.get(job.id).output == {"attempt": 2, "pid": taker.pid}
    assert app.get(job.id).finished_at == finished
    assert names(url, job.id) == ["submitted", "claimed", "reclaimed", "claimed", "done"]
    assert sleeper.running
    check_places(url)


def test_s2_one_worker_that_overslept_holds_attempt_two_while_attempt_one_still_runs(app, workers, url):
    """Both attempts are of one process; only the second can settle."""
    worker = workers.start(environment={"WORKSHOP_LEASE": "2"})
    job = app.submit("stubborn", {"name": "a"})
    until(lambda: workers.journal("start", "a", 1))
    worker.signal(signal.SIGSTOP)
    before = rows(url, "SELECT expires_at FROM lease")
    until(lambda: app.store.reports.health().now > before[0][0] + 500_000)
    worker.signal(signal.SIGCONT)
    until(lambda: workers.journal("start", "a", 2))
    workers.open("a-1")
    until(lambda: workers.journal("end", "a", 1))
    assert job.status == "RUNNING"
    workers.open("a-2")
    assert job.wait(timeout=60).output == {"attempt": 2, "pid": worker.pid}
    assert worker.has_logged("lease_lost")
    check_journal(url)


def test_s2_a_worker_stopped_past_its_lease_starts_nothing_that_it_had_only_claimed(app, workers, url):
    """Three of them, since the heartbeat may be the first to notice. Their loops are free as soon as they go on."""
    short = {"WORKSHOP_LEASE": "2"}
    sleepers = [workers.start(environment=short, concurrency=4, queues=["loop"]) for _ in range(3)]
    jobs = app.submit_many("block", [{"name": "a"}] * 12)
    until(lambda: len(workers.journal("start")) == 3 and rows(url, "SELECT count(*) FROM lease") == [(12,)])
    for sleeper in sleepers:
        sleeper.signal(signal.SIGSTOP)
    until(lambda: all(has_stopped(sleeper.pid) for sleeper in sleepers))
    workers.open("a")
    workers.start(environment=short)
    assert {job.wait(timeout=60).status for job in jobs} == {"DONE"}
    for sleeper in sleepers:
        sleeper.signal(signal.SIGCONT)
    until(lambda: all(sleeper.log.count("lease_lost") == 4 for sleeper in sleepers))
    begun = Counter(int(pid) for _, _, _, pid in workers.journal("start"))
    assert [begun[sleeper.pid] for sleeper in sleepers] == [1, 1, 1]
    check_places(url)


class Submitter(threading.Thread):
    """Submits one job after another, each acknowledged before the next, until it is asked to stop."""

    def __init__(self, app):
        super().__init__()
        self._app = app
        self._enough = threading.Event()
        self.acknowledged = []

    def run(self):
        number = 0
        while not self._enough.wait(0.002):
            self._app.submit("quick", {"number": number}, key=str(number))
            self.acknowledged.append(number)
            number += 1

    def stop(self):
        self._enough.set()
        self.join(timeout=120)


def test_l1_l2_postgresql_stopped_immediately_and_started_again_under_load_loses_nothing(outpost):
    """S3: no process of ours is restarted, and every acknowledged submit settles, once."""
    app, workers, server = outpost.app, outpost.workers, outpost.server
    processes = [workers.start(concurrency=10), workers.start(concurrency=10)]
    jobs = app.submit_many("slow", [{"number": number} for number in range(100_000, 103_000)])
    submitter = Submitter(app)
    submitter.start()
    for count in (500, 1_000):
        await_settled(workers.url, count)
        server.stop("immediate")
        server.start()
    reached = len(submitter.acknowledged)
    until(lambda: len(submitter.acknowledged) > reached + 50, timeout=120)
    submitter.stop()
    count = len(jobs) + len(submitter.acknowledged)
    await_settled(workers.url, count)
    assert all(worker.running for worker in processes)
    check_all_done(workers.url, workers, [*range(100_000, 103_000), *submitter.acknowledged])
