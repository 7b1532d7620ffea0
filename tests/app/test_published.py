"""Kinds are published by the processes that have their handlers: a worker when it starts, others when they submit."""

import contextlib

import pytest

from leasehold import KindUnknown, Leasehold
from tests.support.db import connected


@pytest.fixture
def stranger(url):
    """An app without handlers, as in another process."""
    with contextlib.closing(Leasehold(url)) as app:
        yield app


def add_kinds(app):
    film = app.pipeline("film")

    @film.stage
    def script(): ...

    @app.job(queue="mail")
    def welcome(user: int = 0): ...

    return film, welcome


def test_a_kind_that_was_submitted_through_its_handler_is_submitted_by_name_before_any_worker(app, stranger):
    film, welcome = add_kinds(app)
    with pytest.raises(KindUnknown):
        stranger.submit("welcome", {"user": 1})
    welcome.submit({"user": 1})
    assert stranger.submit("welcome", {"user": 2}).tasks[0].queue == "mail"
    app.submit_many(film, [{}, {}])
    assert [task.stage for task in stranger.submit("film").tasks] == [None, "script"]


def test_a_submit_does_not_replace_what_a_worker_of_another_version_has_published(app, stranger, url):
    _, welcome = add_kinds(app)
    with contextlib.closing(Leasehold(url)) as newer:

        @newer.job(name="welcome", queue="fast")
        def other(): ...

        newer.migrate()
    welcome.submit({"user": 1})
    assert stranger.submit("welcome").tasks[0].queue == "fast"
    app.migrate()  # as a worker does when it starts
    with contextlib.closing(Leasehold(url)) as another:
        assert another.submit("welcome", {"user": 3}).tasks[0].queue == "mail"


def test_a_kind_is_published_by_a_submit_in_a_transaction_that_commits(app, stranger, url):
    _, welcome = add_kinds(app)
    with connected(url) as connection, app.transaction(connection):
        welcome.submit({"user": 1})
    assert stranger.submit("welcome", {"user": 2}).kind == "welcome"


def test_a_transaction_that_is_rolled_back_leaves_a_kind_that_a_later_submit_publishes(app, stranger, url):
    _, welcome = add_kinds(app)
    with connected(url) as connection, contextlib.suppress(ZeroDivisionError), app.transaction(connection):
        welcome.submit({"user": 1})
        raise ZeroDivisionError
    assert app.jobs() == []
    with connected(url) as connection, app.transaction(connection):
        welcome.submit({"user": 1})
    assert stranger.submit("welcome", {"user": 2}).kind == "welcome"


@pytest.mark.parametrize("dialect", ["postgres"], indirect=True)
def test_two_transactions_that_publish_kinds_in_opposite_order_do_not_wait_for_each_other(app, url):
    """A row of `kind` that stayed locked until a commit would make them a deadlock."""
    film, welcome = add_kinds(app)
    with connected(url) as one, connected(url) as two, app.transaction(one):
        film.submit()
        with app.transaction(two):
            welcome.submit()
            film.submit()
        welcome.submit()
    assert len(app.jobs()) == 4
