"""Kills around spends and linked jobs: what was committed stands, is found again, and is not done twice."""

from leasehold import Budget
from tests.crash.test_places import crashed, known
from tests.support.db import check_places, rows


def test_s9_a_debit_that_was_spent_but_not_answered_is_paid_once(app, workers, url):
    known(app, workers)
    job = app.submit("spend", budget={"tokens": 100})
    crashed(workers, "spent but not answered")
    assert (job.budget, workers.journal("spent")) == ({"tokens": Budget(100, 30)}, [])
    workers.start()
    assert job.wait(timeout=60).output == 70
    assert job.budget == {"tokens": Budget(100, 30)}
    assert rows(url, "SELECT count(*) FROM event WHERE name = 'spent'") == [(1,)]
    assert app.journal.verify(job.id).equal
    check_places(url)


def test_s3_a_job_that_was_linked_but_not_answered_is_found_and_not_made_again(app, workers, url):
    known(app, workers)
    job = app.submit("adopt")
    crashed(workers, "linked but not answered")
    [child] = job.children
    assert workers.journal("adopted") == []
    workers.start()
    assert job.wait(timeout=60).output == child.key
    assert child.wait(timeout=60).output == 7
    assert workers.journal("adopted") == [["adopted", str(child.id), "2"]]
    assert rows(url, "SELECT count(*) FROM link") == [(1,)]
    check_places(url)
