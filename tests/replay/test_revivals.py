"""Records of jobs that failed and were revived: every epoch is on record, and the last one replays."""

import contextlib
import json

import pytest

from leasehold import InDoubt, Leasehold, Permanent, Retry
from leasehold.insight.verify.verify import verify_file
from leasehold.testing import Clock, drain
from tests.support.db import rows


class Shop:
    """An app with a pipeline whose second segment fails until it is remedied."""

    def __init__(self, url: str) -> None:
        self.app = Leasehold(url)
        self.remedied = False
        film = self.app.pipeline("film")

        @film.stage
        def script(task, scenes: int):
            return task.effect("WRITE", lambda: {"scenes": list(range(scenes))})

        @film.stage(after=script, each="scenes")
        def audio(task, scenes: int):
            spoken = task.effect("SPEAK", lambda: task.segment * 10)
            if task.segment == 1 and not self.remedied:
                raise Permanent("hoarse")
            return spoken

        @film.stage(after=audio)
        def render(task, scenes: int):
            return sum(task.inputs["audio"])


@pytest.fixture
def shop(url):
    shop = Shop(url)
    with contextlib.closing(shop.app):
        yield shop


@pytest.mark.parametrize("from_start", [False, True])
def test_every_epoch_is_on_record_and_the_last_one_replays(shop, tmp_path, from_start):
    """S5 and S13: the old ends are kept as they were, next to the new."""
    app, clock = shop.app, Clock(shop.app)
    job = app.submit("film", {"scenes": 3})
    drain(app, clock)
    assert job.status == "ERROR"
    assert app.journal.verify(job.id).equal
    (letter,) = app.deadletters.list()
    app.deadletters.evidence(letter.id, "tea with honey", principal="ada")
    shop.remedied = True
    clock.advance(60)
    app.deadletters.revive(letter.id, from_start=from_start, principal="ada")
    assert app.journal.verify(job.id).difference == ""
    drain(app, clock)
    assert (job.wait(timeout=60).status, job.output) == ("DONE", {"render": 30})
    assert app.journal.verify(job.id).difference == ""
    path = tmp_path / "film.ndjson"
    with path.open("w+b") as file:
        closing = app.journal.export(job.id, file)
    assert verify_file(path).difference == ""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    past = [line["status"] for line in lines if line.get("past")]
    assert past.count("ERROR") >= 2
    assert closing.tasks == (10 if from_start else 7)
    assert not [line for line in lines if line["line"] == "event" and "letter" in line.get("detail", {})]
    found = app.journal.replay(path)
    assert (found.equal, found.divergence) == (True, None)


@pytest.mark.parametrize("happened", [True, False])
def test_an_answer_that_came_after_the_attempt_had_failed_is_not_given_to_it_in_a_replay(url, tmp_path, happened):
    with contextlib.closing(Leasehold(url)) as app:
        clock = Clock(app)

        @app.job(retry=Retry(attempts=1))
        def buy(task):
            def act():
                raise InDoubt("cut off")

            return task.effect("BUY", act)

        job = buy.submit()
        drain(app, clock)
        (letter,) = app.deadletters.list()
        clock.advance(60)
        [(key,)] = rows(url, "SELECT key FROM effect")
        app.deadletters.answer(letter.id, key, happened=happened, principal="ada")
        path = tmp_path / "buy.ndjson"
        with path.open("w+b") as file:
            app.journal.export(job.id, file)
        found = app.journal.replay(path)
        assert (job.status, found.equal, found.divergence) == ("ERROR", True, None)
