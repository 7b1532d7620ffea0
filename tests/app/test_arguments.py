"""Arguments that cannot be meant get one of our errors, the same on both databases."""

import functools

import pytest

from leasehold import Leasehold, LeaseholdError
from leasehold.errors import ArgumentsInvalid, JobUnknown, NameInvalid, OptionInvalid, UrlInvalid


@pytest.mark.parametrize("job_id", [1.5, True, "7", "abc", None, 2**70, -1])
def test_what_is_no_id_is_refused_wherever_an_id_is_asked_for(app, job_id):
    for call in (app.get, app.cancel, app.journal.of):
        with pytest.raises(OptionInvalid):
            call(job_id)


def test_an_id_nobody_has_is_unknown(app):
    with pytest.raises(JobUnknown):
        app.get(2**63 - 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda app: app.queues.limit("q", 2.5),
        lambda app: app.jobs(limit=1.5),
        lambda app: app.journal.of(1, limit=-1),
        lambda app: app.job(retry=5),
        lambda app: app.pipeline("film").stage(after=5)(lambda: None),
    ],
)
def test_numbers_that_are_not_whole_and_things_of_another_kind_are_refused(app, call):
    with pytest.raises(LeaseholdError) as caught:
        call(app)
    assert caught.value.code in ("OPTION_INVALID", "NAME_INVALID")


def test_a_function_without_a_name_needs_one(app):
    with pytest.raises(NameInvalid):
        app.job(functools.partial(print))
    with pytest.raises(NameInvalid):
        app.jobs(kind="\ud800")


@pytest.mark.parametrize("url", [5, "sqlite:///a\0b", "sqlite:///:memory:", "mysql://x"])
def test_a_url_that_names_no_database_is_refused(url):
    with pytest.raises(UrlInvalid):
        Leasehold(url)


def test_the_status_of_a_pipeline_does_not_read_its_outputs(app):
    film = app.pipeline("film")
    film.stage(name="only")(lambda: {"size": 1})
    job = film.submit()
    app.drain()
    assert job.status == "DONE"
    assert job._snapshot.output is None  # noqa: SLF001 — that it was not read is the promise
    assert job.output == {"only": {"size": 1}}


def test_fields_may_be_submitted_by_name_with_options_next_to_them(app):
    def welcome(user_id: int, key: str = ""):
        """One field is named like an option."""

    kind = app.job(welcome)
    job = kind.submit(user_id=7, key="welcome:7", priority=3)
    assert (job.payload, job.key) == ({"user_id": 7}, "welcome:7")
    assert kind.submit({"user_id": 7}, key="welcome:7").id == job.id
    assert kind.submit({"user_id": 7, "key": "k"}).payload == {"user_id": 7, "key": "k"}
    with pytest.raises(ArgumentsInvalid, match="Did you mean 'user_id'"):
        kind.submit(usr_id=7)
    with pytest.raises(ArgumentsInvalid, match="by name: prority"):
        kind.submit({"user_id": 7}, prority=3)


def test_the_fields_of_a_pipeline_may_be_submitted_by_name(app):
    film = app.pipeline("film")

    @film.stage
    def script(path): ...

    assert film.submit(path="a.md", key="a").payload == {"path": "a.md"}
