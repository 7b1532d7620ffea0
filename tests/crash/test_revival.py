"""Burials and revivals cut short by SIGKILL where it matters: a letter is there once, and so is its next epoch."""

import pytest

from leasehold.errors import LetterRevived
from tests.support.db import check_journal, check_places, names, rows
from tests.support.wait import until


def killed(workers, module, *words):
    """Run a process that is killed the moment it comes to the given place."""
    assert workers.run(module, *words).end() == -9


def known(app, workers):
    workers.start().kill()
    until(lambda: app.store.tasks.definition("quick"))


def letters(app):
    return app.deadletters.list()


def buried(app, workers):
    """A film whose second stage failed for good, and nobody at work."""
    worker = workers.start()
    job = app.submit("brittle", {"gate": "remedy"})
    assert job.wait(timeout=60).status == "ERROR"
    worker.kill()
    (letter,) = letters(app)
    app.deadletters.evidence(letter.id, "the gate is open")
    workers.open("remedy")
    return job, letter


def finish(app, workers, job, letter):
    """Let a worker do the rest, and check that it did no more than that."""
    workers.start()
    assert job.wait(timeout=60).status == "DONE"
    assert rows(workers.url, "SELECT count(*) FROM audit WHERE action = 'revive'") == [(1,)]
    assert [letter.state for letter in letters(app)] == ["revived"]
    app.deadletters.resolve(letter.id, "it went through")
    check_places(workers.url)
    check_journal(workers.url)


def test_s3_a_burial_that_ended_but_not_written_leaves_no_letter_until_it_is_made_again(app, workers, url):
    known(app, workers)
    job = app.submit("refused", {})
    killed(workers, "tests.crash.killed_worker", "ended but not written")
    assert letters(app) == []
    assert rows(url, "SELECT count(*) FROM outcome") == [(0,)]
    workers.start()
    assert job.wait(timeout=60).status == "ERROR"
    (letter,) = letters(app)
    assert (letter.attempts, letter.epoch) == (2, 1)
    assert names(url, job.id) == ["submitted", "claimed", "reclaimed", "claimed", "failed"]
    check_places(url)
    check_journal(url)


def test_s5_a_burial_that_was_written_but_not_answered_stands_with_its_one_letter(app, workers, url):
    known(app, workers)
    job = app.submit("refused", {})
    killed(workers, "tests.crash.killed_worker", "written but not answered")
    assert job.status == "ERROR"
    (letter,) = letters(app)
    assert (letter.job_id, letter.error_class, letter.attempts) == (job.id, "PERMANENT", 1)
    workers.start()
    app.submit("quick", {"number": 2}).wait(timeout=60)
    assert letters(app) == [letter]
    assert names(url, job.id) == ["submitted", "claimed", "failed"]
    check_places(url)


def test_a_task_buried_because_its_worker_was_killed_leaves_one_letter(app, workers, url):
    worker = workers.start()
    job = app.submit("fragile", {"name": "a"})
    until(lambda: workers.journal("start", "a"))
    worker.kill()
    killed(workers, "tests.crash.killed_worker", "reclaimed but not noted as gone")
    workers.start()
    assert job.wait(timeout=60).status == "ERROR"
    (letter,) = letters(app)
    assert (letter.error_class, letter.state) == ("WORKER_CRASHED", "open")
    check_places(url)
    check_journal(url)


@pytest.mark.parametrize("how", ["at the stage", "from start"])
def test_s13_a_letter_that_was_taken_but_not_placed_is_open_again(app, workers, how):
    job, letter = buried(app, workers)
    killed(workers, "tests.crash.killed_revival", "taken but not placed", str(letter.id), how)
    assert (job.status, letters(app)[0].state) == ("ERROR", "open")
    app.deadletters.revive(letter.id, from_start=how == "from start")
    finish(app, workers, job, letter)


@pytest.mark.parametrize("how", ["at the stage", "from start"])
def test_s13_a_revival_that_was_placed_but_not_noted_never_happened(app, workers, how):
    job, letter = buried(app, workers)
    killed(workers, "tests.crash.killed_revival", "placed but not noted", str(letter.id), how)
    assert (job.status, letters(app)[0].state) == ("ERROR", "open")
    assert rows(workers.url, "SELECT count(*) FROM event WHERE name = 'revived'") == [(0,)]
    assert rows(workers.url, "SELECT count(*) FROM outcome_past") == [(0,)]
    check_places(workers.url)
    app.deadletters.revive(letter.id, from_start=how == "from start")
    finish(app, workers, job, letter)


@pytest.mark.parametrize("how", ["at the stage", "from start"])
def test_s13_an_epoch_that_was_revived_but_not_woken_stands_and_is_run_once(app, workers, how):
    job, letter = buried(app, workers)
    killed(workers, "tests.crash.killed_revival", "revived but not woken", str(letter.id), how)
    assert (job.status, letters(app)[0].state) != ("ERROR", "open")
    with pytest.raises(LetterRevived):
        app.deadletters.revive(letter.id)
    finish(app, workers, job, letter)
    assert len(workers.journal("ran", "second")) == 1
    assert len(workers.journal("ran", "first")) == (1 if how == "at the stage" else 2)
