"""Replays of attempts that failed: the effects before the failure must be asked for in the same order."""

import contextlib

import pytest

from leasehold import Leasehold, Permanent


def app_of(url: str, *names: str) -> Leasehold:
    app = Leasehold(url)

    @app.job
    def refuse(task):
        for name in names:
            task.effect("LOOK", lambda name=name: name, name=name)
        raise Permanent("no")

    return app


@pytest.fixture
def path(url, tmp_path):
    path = tmp_path / "refuse.ndjson"
    with contextlib.closing(app_of(url, "a", "b", "a", "c")) as app, path.open("w+b") as file:
        job = app.submit("refuse")
        app.drain(timeout=60)
        app.journal.export(job.id, file)
    return path


@pytest.mark.parametrize("names", ["abac", "abc"])
def test_the_same_order_is_equal(path, names):
    found = app_of("sqlite:////nowhere/at/all.db", *names).journal.replay(path)
    assert (found.equal, found.divergence) == (True, None)


def test_another_order_is_the_divergence(path):
    found = app_of("sqlite:////nowhere/at/all.db", *"bac").journal.replay(path)
    assert found.divergence is not None
    assert (found.divergence.what, found.divergence.expected) == ("effect 1", 'LOOK {"name":"a"}')
