"""What bad input gets: a typed error with a stable code and a sentence on what to do, and nothing written."""

import re
from contextlib import closing

import pytest

from leasehold import Leasehold, Misuse, Retry
from leasehold.errors import (
    ArgumentsInvalid,
    DatabaseUnavailable,
    KindTaken,
    KindUnknown,
    NameInvalid,
    OptionInvalid,
    PayloadInvalid,
    PayloadTooDeep,
    PayloadTooLarge,
    QueueUnserved,
    SchemaTooNew,
    UrlInvalid,
)
from leasehold.model.graph import Definition
from leasehold.model.task import Terms
from tests.support.db import rows


def nested(depth):
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


BAD_PAYLOADS = {
    "not a number": ({"value": float("nan")}, PayloadInvalid, "PAYLOAD_INVALID"),
    "infinite": ({"value": float("-inf")}, PayloadInvalid, "PAYLOAD_INVALID"),
    "nul": ({"value": "a\0b"}, PayloadInvalid, "PAYLOAD_INVALID"),
    "nul in a key": ({"value": {"\0": 1}}, PayloadInvalid, "PAYLOAD_INVALID"),
    "lone surrogate": ({"value": "\ud800"}, PayloadInvalid, "PAYLOAD_INVALID"),
    "bytes": ({"value": b"x"}, PayloadInvalid, "PAYLOAD_INVALID"),
    "a set": ({"value": {1}}, PayloadInvalid, "PAYLOAD_INVALID"),
    "a number for a key": ({"value": {1: 2}}, PayloadInvalid, "PAYLOAD_INVALID"),
    "beyond 64 bits": ({"value": 2**63}, PayloadInvalid, "PAYLOAD_INVALID"),
    "a list": ([1], PayloadInvalid, "PAYLOAD_INVALID"),
    "a text": ("value", PayloadInvalid, "PAYLOAD_INVALID"),
    "50 MB": ({"value": "x" * 50_000_000}, PayloadTooLarge, "PAYLOAD_TOO_LARGE"),
    "depth 65": ({"value": nested(64)}, PayloadTooDeep, "PAYLOAD_TOO_DEEP"),
    "depth 100,000": ({"value": nested(100_000)}, PayloadTooDeep, "PAYLOAD_TOO_DEEP"),
}


@pytest.mark.parametrize("name", BAD_PAYLOADS)
def test_a_payload_that_is_not_strict_json_is_refused_and_nothing_is_written(app, url, name):
    payload, error, code = BAD_PAYLOADS[name]

    @app.job
    def take(value): ...

    with pytest.raises(error) as refused:
        app.submit_many(take, [{"value": 1}, payload])
    assert refused.value.code == code
    assert len(str(refused.value)) < 1_000
    assert rows(url, "SELECT count(*) FROM task") == [(0,)]


def test_a_handler_known_here_refuses_wrong_arguments_at_the_submit(app):
    @app.job
    def take(value, other=1): ...

    film = app.pipeline("film")

    @film.stage
    def script(path): ...

    for what, payload in [(take, {}), (take, {"value": 1, "more": 2}), ("take", None), (film, {"pfad": "a"})]:
        with pytest.raises(ArgumentsInvalid) as refused:
            app.submit(what, payload)
        assert refused.value.code == "ARGUMENTS_INVALID"
    assert app.jobs() == []


def test_a_handler_known_elsewhere_refuses_wrong_arguments_at_the_submit(app, url):
    @app.job
    def take(value, other=1): ...

    @app.job
    def take_all(value, **more): ...

    film = app.pipeline("film")

    @film.stage
    def script(path): ...

    @film.stage(after=script)
    def render(task, size): ...

    app.drain()
    with closing(Leasehold(url)) as stranger:
        for kind, payload, words in [
            ("take", {"valeu": 1}, "missing: value; unknown: valeu. Did you mean 'value'?"),
            ("take", {"value": 1, "more": 2, "most": 3}, "'take': unknown: more, most."),
            ("take_all", {"more": 2}, "missing: value."),
            ("film", {"path": "a"}, "'film/render': missing: size."),
        ]:
            with pytest.raises(ArgumentsInvalid, match=re.escape(words)):
                stranger.submit(kind, payload)
        assert stranger.jobs() == []
        stranger.submit("film", {"path": "a", "size": 1, "note": "stages take what they ask for"})


def test_a_handler_that_has_changed_ends_wrong_arguments_with_the_same_code(app, url):
    @app.job
    def take(value): ...

    job = take.submit({"value": 1})
    with closing(Leasehold(url)) as newer:
        newer.job(name="take")(lambda number: None)
        newer.drain()
    failure = job.failure or {}
    assert (job.status, failure["error_class"]) == ("ERROR", "ARGUMENTS_INVALID")
    assert "missing: number" in failure["message"]


def test_a_kind_that_an_older_version_published_without_its_fields_can_be_submitted(app, url):
    @app.job
    def take(value): ...

    app.drain()
    app.store.tasks.publish(Definition("take", Terms()))
    with closing(Leasehold(url)) as stranger:
        assert stranger.submit("take", {"valeu": 1}).status == "READY"


def test_a_kind_that_is_mistyped_gets_the_nearest_name_from_here_or_from_elsewhere(app, url):
    app.job(lambda: None, name="welcome")
    app.drain()
    with closing(Leasehold(url)) as stranger:
        for who in (app, stranger):
            with pytest.raises(KindUnknown, match=r"Did you mean 'welcome'\?"):
                who.submit("wellcome")


def test_an_unknown_kind_is_refused_and_a_known_name_not_given_twice(app):
    with pytest.raises(KindUnknown) as refused:
        app.submit("nobody", {})
    assert refused.value.code == "KIND_UNKNOWN"
    assert "A worker publishes its kinds when it starts" in str(refused.value)
    app.job(lambda: None, name="twice")
    with pytest.raises(KindTaken):
        app.job(lambda: None, name="twice")


@pytest.mark.parametrize("name", ["Mail", "1st", "", "a" * 64, "a b", "a/", "a/b/c", "mail\n", "é", "a;drop"])
def test_a_bad_name_for_a_queue_kind_or_stage_is_refused(app, name):
    for attempt in (
        lambda: app.job(queue=name),
        lambda: app.pipeline(name),
        lambda: app.submit(name, {}),
        lambda: app.queues.pause(name),
    ):
        with pytest.raises(NameInvalid) as refused:
            attempt()
        assert refused.value.code == "NAME_INVALID"


def test_options_beyond_their_limits_are_refused(app):
    @app.job
    def take(): ...

    for attempt in (
        lambda: take.submit(priority=40_000),
        lambda: take.submit(priority=1.5),
        lambda: take.submit(delay=-1),
        lambda: take.submit(delay=float("nan")),
        lambda: take.submit(key=""),
        lambda: take.submit(key="k" * 513),
        lambda: take.submit(key="a\0"),
        lambda: app.job(lease=0),
        lambda: app.job(on_lost="forget"),
        lambda: Retry(attempts=0),
        lambda: Retry(delay_max=-1),
        lambda: app.work(concurrency=0),
        lambda: app.work(grace=-1),
        lambda: app.work(queues=[]),
        lambda: app.drain(queues={"default": 0}),
        lambda: app.queues.limit("default", 0),
        lambda: app.jobs(limit=0),
    ):
        with pytest.raises(OptionInvalid) as refused:
            attempt()
        assert refused.value.code == "OPTION_INVALID"
    assert app.jobs() == []


def test_a_handler_whose_arguments_cannot_come_by_name_is_refused(app):
    with pytest.raises(OptionInvalid, match="positional"):
        app.job(lambda *values: None, name="many")
    with pytest.raises(OptionInvalid, match="top of a module"):
        app.job(lambda: None, name="inner", isolated=True)


def test_a_worker_for_a_queue_nobody_serves_is_refused(app):
    @app.job(queue="mail")
    def take(): ...

    for queues in (["post"], {"post": 3}, ["mail", "post"], "mail"):
        with pytest.raises(Misuse) as refused:
            app.work(queues=queues)
        assert refused.value.code == ("OPTION_INVALID" if queues == "mail" else "QUEUE_UNSERVED")
    with pytest.raises(QueueUnserved, match="mail"):
        app.drain(queues=["post"])


def test_a_worker_without_handlers_is_refused(app):
    with pytest.raises(KindUnknown):
        app.work()
    with pytest.raises(KindUnknown):
        app.drain()


@pytest.mark.parametrize("bad", ["mysql://x", "leasehold.db", "sqlite://", "sqlite:///", "postgresql://[half"])
def test_a_url_that_names_no_database_is_refused_when_the_app_is_made(bad):
    with pytest.raises(UrlInvalid) as refused:
        Leasehold(bad)
    assert refused.value.code == "URL_INVALID"


def test_a_database_that_cannot_be_reached_is_named_within_seconds(tmp_path):
    for bad, error in [
        ("postgresql://postgres@127.0.0.1:1/none", DatabaseUnavailable),
        (f"sqlite:///{tmp_path}/no/such/folder.db", UrlInvalid),
    ]:
        app = Leasehold(bad)
        with pytest.raises(error):
            app.jobs()
        app.close()


def test_a_schema_that_is_too_new_is_refused_before_anything_is_read(app, url):
    rows(url, "UPDATE meta SET value = '9999' WHERE name = 'schema_version' RETURNING 1")
    for attempt in (app.jobs, app.migrate, lambda: app.submit("x", {})):
        with pytest.raises(SchemaTooNew) as refused:
            attempt()
        assert refused.value.code == "SCHEMA_TOO_NEW"


def test_an_empty_database_gets_its_schema_at_the_first_touch(empty_url):
    app = Leasehold(empty_url)

    @app.job
    def first():
        return 1

    job = first.submit()
    app.drain()
    assert job.output == 1
    assert app.migrate()[0] == app.migrate()[1]
    app.close()
