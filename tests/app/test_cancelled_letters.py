"""Letters of a job that was called off: nobody can revive them, so a person closes them, and then the job may go."""

import pytest

from leasehold import Permanent
from leasehold.errors import EffectUnanswered, InDoubt, JobCancelled, LetterRevived
from leasehold.insight.read import effects
from leasehold.insight.verify.verify import verify_file
from leasehold.testing import Clock
from tests.support.db import rows
from tests.support.processes.local_worker import run_worker
from tests.support.wait import until

DAY = 24 * 3600


class Film:
    """A pipeline with one stage that fails for good, and one that waits for ever unless it is called off."""

    def __init__(self, app, *, doubt: bool = False):
        self.app = app
        film = app.pipeline("film")

        def act():
            raise InDoubt("the line went dead")

        @film.stage
        def script(task):
            if doubt:
                task.effect("SEND", act)
            raise Permanent("no", error_class="NO_SCRIPT")

        @film.stage(queue="shut")
        def poster(task):
            return None

        app.queues.pause("shut")
        self.film = film
        self.job = app.submit(film, {}, key="k")

    def call_off(self, url):
        """Have the first stage fail, cancel the job, and return the letter that is left."""
        with run_worker(url, self.film):
            (letter,) = until(self.app.deadletters.list)
            self.job.cancel("nobody wants it")
            until(lambda: self.job.status == "CANCELLED")
        return letter


def swept(film: Film) -> int:
    Clock(film.app).advance(31 * DAY)
    return film.app.journal.prune(older_than=30 * DAY, principal="ada").pruned.jobs


def test_an_open_letter_of_a_cancelled_job_is_resolved_with_notes_and_then_the_job_may_go(app, url, tmp_path):
    film = Film(app)
    letter = film.call_off(url)
    app.deadletters.evidence(letter.id, "none", principal="ada")
    with pytest.raises(JobCancelled):
        app.deadletters.revive(letter.id)
    assert swept(film) == 0
    app.deadletters.resolve(letter.id, "called off; nothing to remedy", principal="bob")
    assert app.deadletters.get(letter.id).letter.state == "resolved"
    trail = [(line.principal, line.action) for line in app.store.audit.list("dead_letter", letter.id)]
    assert trail == [("ada", "evidence"), ("bob", "resolve")]
    with pytest.raises(LetterRevived):
        app.deadletters.resolve(letter.id, "again")
    assert app.journal.verify(film.job.id).difference == ""
    with (tmp_path / "film.ndjson").open("w+b") as file:
        app.journal.export(film.job.id, file)
    assert verify_file(tmp_path / "film.ndjson").difference == ""
    assert swept(film) == 1
    assert rows(url, "SELECT count(*) FROM dead_letter") == [(0,)]


def test_what_is_in_doubt_is_answered_before_the_letter_is_closed(app, url):
    """Only an open letter takes an answer: closed too early, the doubt and the job would stay for good."""
    film = Film(app, doubt=True)
    letter = film.call_off(url)
    with pytest.raises(EffectUnanswered, match="1 to answer"):
        app.deadletters.resolve(letter.id, "called off")
    (effect,) = effects.rows_of(app.store, film.job.id)
    app.deadletters.answer(letter.id, effect.key, happened=False, principal="ada")
    app.deadletters.resolve(letter.id, "called off")
    assert swept(film) == 1


def test_a_letter_that_was_revived_before_its_job_was_cancelled_is_resolved_too(app):
    @app.job
    def fail(task):
        raise Permanent("no")

    job = fail.submit()
    app.drain(timeout=60)
    (letter,) = app.deadletters.list()
    app.deadletters.evidence(letter.id, "mended")
    app.queues.pause("default")
    app.deadletters.revive(letter.id)
    job.cancel("nobody wants it")
    assert job.status == "CANCELLED"
    app.deadletters.resolve(letter.id, "called off")
    assert app.deadletters.get(letter.id).letter.state == "resolved"
    assert app.journal.verify(job.id).difference == ""
