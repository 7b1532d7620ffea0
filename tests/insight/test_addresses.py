"""A URL is shown without what is secret in it."""

import pytest

from leasehold.insight.addresses import masked, scrubbed


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
    ],
)
def test_a_url_is_shown_without_its_password(url, shown):
    assert masked(url) == shown


def test_a_message_is_shown_without_the_password_and_its_pieces():
    url = "postgresql://clerk:hunter22%21/more@db/shop"
    said = 'bad port "hunter22%21", password "hunter22!/more" for clerk'
    assert scrubbed(said, url) == 'bad port "***", password "***" for clerk'
    assert scrubbed(said, "sqlite:///x.db") == said
