"""Texts on PostgreSQL: a database that cannot store them all is refused; what a client has set does not matter."""

import contextlib
import os

import psycopg
import pytest

from leasehold import Leasehold
from leasehold.errors import EncodingUnsupported
from leasehold.insight.doctor import Grade, examine
from leasehold.runtime.process_identity import is_gone, this_process
from tests.support.databases.postgres import database_name

TEXT = "Zażółć gęślą jaźń — 日本語"


@pytest.fixture(params=["SQL_ASCII", "LATIN1"])
def narrow_url(request, postgres):
    """A database whose encoding is not UTF-8."""
    name = f"narrow_{request.param.lower()}"
    with psycopg.connect(postgres.url(), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} ENCODING '{request.param}' TEMPLATE template0 LOCALE 'C'")
        yield postgres.url(name)
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_a_database_that_is_not_utf8_is_refused_at_once_with_a_sentence(narrow_url):
    name = database_name(narrow_url)
    encoding = name.removeprefix("narrow_").upper()
    with contextlib.closing(Leasehold(narrow_url)) as app:
        with pytest.raises(EncodingUnsupported, match=f"CREATE DATABASE .* ENCODING 'UTF8'.*'{name}' is {encoding}"):
            app.migrate()
        with pytest.raises(EncodingUnsupported):
            app.submit("greet", {"name": TEXT})
    (found,) = (one for one in examine(narrow_url, this_process(), is_gone) if one.name == "database")
    assert found.grade is Grade.WRONG
    assert f"is {encoding}" in found.advice
    with psycopg.connect(narrow_url) as connection:
        assert connection.execute("SELECT to_regnamespace('leasehold')").fetchone() == (None,)


@pytest.fixture
def latin_url(databases, postgres_template):
    """A database whose clients get Latin 1 unless they ask for something else."""
    url = databases.make(postgres_template)
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {database_name(url)} SET client_encoding = 'LATIN1'")
    yield url
    databases.give_back(url)


def test_texts_come_back_whatever_encoding_the_client_has_set(latin_url, monkeypatch):
    monkeypatch.setitem(os.environ, "PGCLIENTENCODING", "LATIN1")
    for url in (latin_url, f"{latin_url}&client_encoding=latin1"):
        with contextlib.closing(Leasehold(url)) as app:
            app.job(name="greet")(lambda name: {"greeting": name})
            job = app.submit("greet", {"name": TEXT})
            app.drain()
            assert app.get(job.id).output == {"greeting": TEXT}


def test_a_callers_connection_in_another_encoding_carries_every_text_and_stays_as_it_was(latin_url):
    with contextlib.closing(Leasehold(latin_url)) as app, psycopg.connect(latin_url) as connection:
        app.job(name="greet")(lambda name: None)
        assert connection.info.encoding == "iso8859-1"
        with app.transaction(connection):
            job = app.submit("greet", {"name": TEXT})
        connection.commit()
        assert connection.info.encoding == "iso8859-1"
        assert app.get(job.id).payload == {"name": TEXT}
