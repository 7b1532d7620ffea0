"""The crash matrix of an effect: a process really killed at each point, for each way of dealing with doubt."""

import pytest

from tests.crash.test_places import crashed, known
from tests.support.db import check_places, rows
from tests.support.wait import until


def resumed(app, workers, job):
    workers.start()
    return job.wait(timeout=60)


@pytest.mark.parametrize("care", ["lookup", "idempotent"])
def test_s4_an_effect_that_was_intended_but_not_done_is_done_once(app, workers, url, care):
    known(app, workers)
    job = app.submit("pay", {"name": "a", "care": care})
    crashed(workers, "intended but not done")
    assert workers.journal("paid") == []
    assert resumed(app, workers, job).status == "DONE"
    assert len(workers.journal("paid")) == 1
    check_places(url)


def test_an_effect_that_was_done_but_not_recorded_is_found_by_its_lookup_and_not_done_again(app, workers, url):
    known(app, workers)
    job = app.submit("pay", {"name": "a", "care": "lookup"})
    crashed(workers, "done but not recorded")
    ((_, _, key),) = workers.journal("paid")
    assert resumed(app, workers, job).output == {"receipt": key[:8]}
    assert len(workers.journal("paid")) == 1
    assert rows(url, "SELECT count(*) FROM effect WHERE result IS NOT NULL") == [(1,)]


def test_an_idempotent_effect_that_was_done_but_not_recorded_is_done_again_with_the_same_key(app, workers):
    known(app, workers)
    job = app.submit("pay", {"name": "a", "care": "idempotent"})
    crashed(workers, "done but not recorded")
    assert resumed(app, workers, job).status == "DONE"
    first, second = workers.journal("paid")
    assert first == second


@pytest.mark.parametrize("place", ["intended but not done", "done but not recorded"])
def test_an_effect_in_doubt_without_lookup_is_never_repeated_blindly_but_buried_for_a_person(app, workers, url, place):
    known(app, workers)
    job = app.submit("pay", {"name": "a", "care": "none"})
    crashed(workers, place)
    before = workers.journal("paid")
    assert resumed(app, workers, job).status == "ERROR"
    assert job.failure is not None
    assert job.failure["error_class"] == "EFFECT_IN_DOUBT"
    assert workers.journal("paid") == before
    assert rows(url, "SELECT error_class FROM dead_letter") == [("EFFECT_IN_DOUBT",)]
    check_places(url)


@pytest.mark.parametrize("care", ["lookup", "idempotent", "none"])
def test_s4_an_effect_that_was_recorded_but_not_returned_is_answered_from_the_ledger(app, workers, url, care):
    known(app, workers)
    job = app.submit("pay", {"name": "a", "care": care})
    crashed(workers, "recorded but not returned")
    recorded = rows(url, "SELECT result FROM effect")
    assert resumed(app, workers, job).status == "DONE"
    assert rows(url, "SELECT result FROM effect") == recorded
    assert len(workers.journal("paid")) == 1
    until(lambda: len(workers.journal("asked")) == 2)
