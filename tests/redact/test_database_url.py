"""A URL is shown without what is secret in it."""

import pytest

from leasehold.errors import DatabaseUnavailable, KindUnknown, Misuse, UrlInvalid
from leasehold.redact.database_url import masked, safe_text, scrubbed


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:////tmp/a:b@c.db", "sqlite:////tmp/a:b@c.db"),
        ("postgresql://db/shop", "postgresql://db/shop"),
        ("postgresql://clerk@db:5433/shop", "postgresql://clerk@db:5433/shop"),
        ("postgresql://clerk:pw@db:5433/shop", "postgresql://clerk:***@db:5433/shop"),
        ("postgresql://clerk:p@ss/w?rd@db/shop", "postgresql://clerk:***@db/shop"),
        ("postgresql://:pw@db/shop", "postgresql://:***@db/shop"),
        ("postgresql://db/shop?user=a&password=pw&x=1", "postgresql://db/shop?user=a&password=***&x=1"),
        ("postgresql://db/shop?sslpassword=pw", "postgresql://db/shop?sslpassword=***"),
        ("postgresql://sec@ret@db/shop", "postgresql://***"),
        ("postgresql://clerk:secret/shop", "postgresql://***"),
        ("shop.db", "shop.db"),
    ],
)
def test_a_url_is_shown_without_its_password(url, shown):
    assert masked(url) == shown


def test_a_message_is_shown_without_the_password_and_its_pieces():
    url = "postgresql://clerk:hunter22%21/more@db/shop"
    text = 'bad port "hunter22%21", password "hunter22!/more" for clerk'
    assert scrubbed(text, url) == 'bad port "***", password "***" for clerk'
    assert scrubbed(text, "sqlite:///x.db") == text


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://clerk:sec@ret@db/shop",
        "postgresql://sec@ret@db/shop",
        "postgresql://clerk:sec/ret@db/shop",
        "postgresql://clerk:ret/shop",
        "postgresql://clerk:sec%zzret@db/shop",
        "postgresql://clerk:pw@[ret/shop",
        "postgresql://clerk:pw@db:ret/shop",
    ],
)
@pytest.mark.parametrize("error", [DatabaseUnavailable, UrlInvalid, Misuse])
def test_nothing_of_a_drivers_text_about_an_ambiguous_url_is_shown(url, error):
    text = safe_text(error("PostgreSQL: failed to resolve host 'ret@db'."), url)
    assert text.startswith(f"{error.code}: {error.__doc__} The cause is not shown")
    assert "ret@" not in text
    assert "write @ as %40" in text


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////tmp/a@b@c.db",
        "shop.db",
        "postgresql:///shop",
        "postgresql://db/shop",
        "postgresql://clerk:a%40b@db:5433/shop?sslmode=require",
        "postgresql://clerk:a?b:c@one:1,[::1]:2/shop",
    ],
)
def test_a_drivers_text_about_a_clean_url_is_shown(url):
    assert safe_text(DatabaseUnavailable("Nobody listens."), url).endswith(" that it is running. Nobody listens.")


def test_an_error_that_does_not_come_from_a_driver_keeps_its_words():
    text = safe_text(KindUnknown("Did you mean greet?"), "postgresql://db/shop?user=clerk@db")
    assert text.endswith("Did you mean greet?")
