"""Versioned reruns: the same version is the same job, a higher one is a new one, a lower one is refused."""

import pytest

from leasehold import KeyConflict, Misuse
from leasehold.errors import OptionInvalid, VersionPruned, VersionStale
from leasehold.model.limits import VERSION_MAX
from leasehold.providers import Folder
from leasehold.testing import Clock
from tests.store.work import at_once
from tests.support.apps.deliveries import fields
from tests.support.db import connected, rows


@pytest.fixture
def review(app):
    @app.job
    def review(task, change: str, version: int = 1):
        task.deliver(change, "ada@example.org", version, {"text": f"version {version}"})
        return {"version": version}

    return review


def test_the_same_version_of_a_job_that_succeeded_returns_the_old_result_and_runs_nothing(app, review):
    first = review.submit({"change": "cl-1"}, key="cl-1", version=3)
    app.drain(timeout=60)
    finished = first.finished_at
    again = app.submit("review", {"change": "cl-1"}, key="cl-1", version=3)
    app.drain(timeout=60)
    assert (again.id, again.key, again.output) == (first.id, "cl-1@3", {"version": 1})
    assert again.finished_at == finished


def test_a_strictly_higher_version_runs_again_and_delivers_under_new_keys(app, review, tmp_path):
    app.deliveries.provider("default", Folder(tmp_path / "letters"))
    third = review.submit({"change": "cl-1", "version": 3}, key="cl-1", version=3)
    app.drain(timeout=60)
    assert review.submit({"change": "cl-1", "version": 3}, key="cl-1", version=3).output == {"version": 3}
    fourth = review.submit({"change": "cl-1", "version": 4}, key="cl-1", version=4)
    app.drain(timeout=60)
    assert fourth.id != third.id
    assert [letter["version"] for letter in sorted(fields(tmp_path / "letters"), key=lambda one: one["version"])] == [
        3,
        4,
    ]
    assert app.deliveries.complete("cl-1", 3)
    assert app.deliveries.complete("cl-1", 4)


def test_a_lower_version_is_refused_with_the_newest_one_even_if_it_ran_before(app, review, url):
    review.submit({"change": "cl-1"}, key="cl-1", version=3)
    review.submit({"change": "cl-1"}, key="cl-1", version=5)
    for version in (3, 4):
        with pytest.raises(VersionStale, match="5 is the newest") as refused:
            review.submit({"change": "cl-1"}, key="cl-1", version=version)
    assert (refused.value.code, isinstance(refused.value, Misuse)) == ("VERSION_STALE", True)
    assert rows(url, "SELECT key FROM task ORDER BY id") == [("cl-1@3",), ("cl-1@5",)]
    assert rows(url, "SELECT kind, key, version FROM rerun") == [("review", "cl-1", 5)]


def test_a_version_that_was_pruned_does_not_run_again_and_a_higher_one_does(app, review, url, tmp_path):
    clock = Clock(app)
    app.deliveries.provider("default", Folder(tmp_path / "letters"))
    review.submit({"change": "cl-1", "version": 3}, key="cl-1", version=3)
    app.drain(timeout=60)
    clock.advance(60)
    assert app.journal.prune(older_than=30).pruned.jobs == 1
    with pytest.raises(VersionPruned, match="version 3") as refused:
        review.submit({"change": "cl-1", "version": 3}, key="cl-1", version=3)
    assert (refused.value.code, isinstance(refused.value, Misuse)) == ("VERSION_PRUNED", True)
    with pytest.raises(VersionStale):
        review.submit({"change": "cl-1"}, key="cl-1", version=2)
    app.drain(timeout=60)
    assert rows(url, "SELECT count(*) FROM task") == [(0,)]
    assert len(fields(tmp_path / "letters")) == 1
    fourth = review.submit({"change": "cl-1", "version": 4}, key="cl-1", version=4)
    app.drain(timeout=60)
    assert (fourth.output, len(fields(tmp_path / "letters"))) == ({"version": 4}, 2)
    assert rows(url, "SELECT version FROM rerun") == [(4,)]


def test_the_same_version_with_another_payload_is_a_conflict(review):
    review.submit({"change": "cl-1"}, key="cl-1", version=3)
    with pytest.raises(KeyConflict):
        review.submit({"change": "cl-2"}, key="cl-1", version=3)


def test_versions_submitted_at_once_leave_one_job_each_and_the_newest_on_record(app, review, url):
    def submit(number):
        try:
            return review.submit({"change": "cl-1"}, key="cl-1", version=1 + number % 3).id
        except VersionStale:
            return None

    made = [one for one in at_once(12, submit) if one is not None]
    assert rows(url, "SELECT version FROM rerun") == [(3,)]
    assert sorted(set(made)) == [row[0] for row in rows(url, "SELECT id FROM task ORDER BY id")]


def test_a_pipeline_has_versions_too_and_a_rolled_back_one_leaves_nothing(app, url):
    film = app.pipeline("film")

    @film.stage
    def script():
        return 1

    def give_up(connection):
        with app.transaction(connection):
            film.submit({}, key="a", version=9)
            raise ZeroDivisionError

    with connected(url) as connection:
        with pytest.raises(ZeroDivisionError):
            give_up(connection)
        with app.transaction(connection):
            job = film.submit({}, key="a", version=2)
    app.drain(timeout=60)
    assert (job.output, job.key) == ({"script": 1}, "a@2")
    assert film.submit({}, key="a", version=2).id == job.id


@pytest.mark.parametrize(
    "options", [{"version": 1}, {"key": "a", "version": 0}, {"key": "a", "version": True}, {"key": "a", "version": "2"},
                {"key": "a", "version": VERSION_MAX + 1}, {"key": "a" * 511, "version": 1}]
)  # fmt: skip
def test_a_version_is_a_whole_number_from_one_and_belongs_to_a_key(review, options):
    with pytest.raises(OptionInvalid):
        review.submit({"change": "cl-1"}, **options)
