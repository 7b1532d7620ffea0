"""The crash matrix of an effect: a process really killed at each point, for each way of dealing with doubt."""

import pytest

from tests.crash.test_places import crashed, known
from tests.support.db import check_places, rows
from tests.support.wait import until


def resumed(app, crew, job):
    crew.start()
    return job.wait(timeout=60)


@pytest.mark.parametrize("care", ["lookup", "idempotent"])
def test_s4_an_effect_that_was_intended_but_not_done_is_done_once(app, crew, url, care):
    known(app, crew)
    job = app.submit("pay", {"name": "a", "care": care})
    crashed(crew, "intended but not done")
    assert crew.journal("paid") == []
    assert resumed(app, crew, job).status == "DONE"
    assert len(crew.journal("paid")) == 1
    check_places(url)


def test_an_effect_that_was_done_but_not_recorded_is_found_by_its_lookup_and_not_done_again(app, crew, url):
    known(app, crew)
    job = app.submit("pay", {"name": "a", "care": "lookup"})
    crashed(crew, "done but not recorded")
    ((_, _, key),) = crew.journal("paid")
    assert resumed(app, crew, job).output == {"receipt": key[:8]}
    assert len(crew.journal("paid")) == 1
    assert rows(url, "SELECT count(*) FROM effect WHERE result IS NOT NULL") == [(1,)]


def test_an_idempotent_effect_that_was_done_but_not_recorded_is_done_again_with_the_same_key(app, crew):
    known(app, crew)
    job = app.submit("pay", {"name": "a", "care": "idempotent"})
    crashed(crew, "done but not recorded")
    assert resumed(app, crew, job).status == "DONE"
    first, second = crew.journal("paid")
    assert first == second


@pytest.mark.parametrize("place", ["intended but not done", "done but not recorded"])
def test_an_effect_in_doubt_without_lookup_is_never_repeated_blindly_but_buried_for_a_person(app, crew, url, place):
    known(app, crew)
    job = app.submit("pay", {"name": "a", "care": "none"})
    crashed(crew, place)
    before = crew.journal("paid")
    assert resumed(app, crew, job).status == "ERROR"
    assert job.failure is not None
    assert job.failure["error_class"] == "EFFECT_IN_DOUBT"
    assert crew.journal("paid") == before
    assert rows(url, "SELECT error_class FROM dead_letter") == [("EFFECT_IN_DOUBT",)]
    check_places(url)


@pytest.mark.parametrize("care", ["lookup", "idempotent", "none"])
def test_s4_an_effect_that_was_recorded_but_not_returned_is_answered_from_the_ledger(app, crew, url, care):
    known(app, crew)
    job = app.submit("pay", {"name": "a", "care": care})
    crashed(crew, "recorded but not returned")
    recorded = rows(url, "SELECT result FROM effect")
    assert resumed(app, crew, job).status == "DONE"
    assert rows(url, "SELECT result FROM effect") == recorded
    assert len(crew.journal("paid")) == 1
    until(lambda: len(crew.journal("asked")) == 2)
