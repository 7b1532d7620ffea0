"""Each place marked in the source as one where a crash matters, with a process that dies exactly there."""

from tests.support.db import check_journal, check_places, names, rows
from tests.support.wait import until


def crashed(workers, place):
    """Run a worker that is killed the moment it comes to `place`."""
    worker = workers.run("tests.crash.killed_worker", place)
    assert worker.end() == -9
    return worker


def known(app, workers):
    """Have the kinds published by a worker that does nothing else."""
    workers.start().kill()
    until(lambda: app.store.tasks.definition("quick"))


def test_a_task_that_was_leased_but_not_started_is_run_by_another(app, workers, url):
    known(app, workers)
    job = app.submit("quick", {"number": 1})
    crashed(workers, "leased but not started")
    assert job.status == "RUNNING"
    assert workers.journal("ran") == []
    workers.start()
    assert job.wait(timeout=60).output == 1
    assert names(url, job.id) == ["submitted", "claimed", "reclaimed", "claimed", "done"]
    check_places(url)


def test_a_result_that_ended_but_not_written_is_made_again(app, workers, url):
    known(app, workers)
    jobs = app.submit_many("quick", [{"number": number} for number in range(20)])
    crashed(workers, "ended but not written")
    assert rows(url, "SELECT count(*) FROM outcome") == [(0,)]
    assert workers.journal("ran")
    workers.start()
    assert [job.wait(timeout=60).output for job in jobs] == list(range(20))
    check_places(url)
    check_journal(url)


def test_s5_a_result_that_was_written_but_not_answered_stands_and_is_not_made_again(app, workers, url):
    known(app, workers)
    job = app.submit("quick", {"number": 1})
    crashed(workers, "written but not answered")
    assert (job.status, job.output) == ("DONE", 1)
    workers.start()
    app.submit("quick", {"number": 2}).wait(timeout=60)
    assert workers.journal("ran") == [["ran", "1"], ["ran", "2"]]
    assert names(url, job.id) == ["submitted", "claimed", "done"]
    check_places(url)


def test_a_lease_that_was_reclaimed_but_not_noted_as_gone_is_reclaimed_once(app, workers, url):
    worker = workers.start()
    job = app.submit("hold", {"name": "a"})
    until(lambda: workers.journal("start"))
    worker.kill()
    crashed(workers, "reclaimed but not noted as gone")
    assert rows(url, "SELECT count(*) FROM worker WHERE ended_at IS NULL") >= [(2,)]
    workers.open("a")
    workers.start()
    assert job.wait(timeout=60).output["attempt"] == 2
    until(lambda: rows(url, "SELECT count(*) FROM worker WHERE ended_at IS NULL") == [(1,)])
    assert names(url, job.id) == ["submitted", "claimed", "reclaimed", "claimed", "done"]
    check_places(url)
    check_journal(url)
