"""One address, one form; and what is no address is refused with a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.pipelines.download.http.urls import IN_FORM, UrlRefused, canonical_url, host_of, name_of

SAME = [
    ("https://example.org/paper.pdf", "https://example.org/paper.pdf"),
    ("HTTPS://EXAMPLE.ORG/paper.pdf", "https://example.org/paper.pdf"),
    ("https://example.org:443/paper.pdf", "https://example.org/paper.pdf"),
    ("http://example.org:80/", "http://example.org/"),
    ("http://example.org:443/", "http://example.org:443/"),
    ("https://example.org:8443/a", "https://example.org:8443/a"),
    ("https://example.org", "https://example.org/"),
    ("https://example.org?q=1", "https://example.org/?q=1"),
    ("https://example.org./a", "https://example.org/a"),
    ("https://example.org/a/./b/../c", "https://example.org/a/c"),
    ("https://example.org/../../a", "https://example.org/a"),
    ("https://example.org/a/..", "https://example.org/"),
    ("https://example.org/a/.", "https://example.org/a/"),
    ("https://example.org/a//b", "https://example.org/a//b"),
    ("https://example.org/a/%2E%2E/b", "https://example.org/b"),
    ("https://example.org/a#page=2", "https://example.org/a"),
    ("https://example.org/%7euser/%c3%a9", "https://example.org/~user/%C3%A9"),
    ("https://example.org/é", "https://example.org/%C3%A9"),
    ("https://example.org/a%2fb", "https://example.org/a%2Fb"),
    ("https://example.org/100%", "https://example.org/100%25"),
    ("https://example.org/a?b=2&a=1", "https://example.org/a?b=2&a=1"),
    ("https://example.org/a?x=a+b%20c", "https://example.org/a?x=a+b%20c"),
    ("https://example.org/a?", "https://example.org/a"),
    ("https://bücher.example/a", "https://xn--bcher-kva.example/a"),
    ("http://[2001:DB8:0::1]:80/", "http://[2001:db8::1]/"),
    ("  https://example.org/a\n", "https://example.org/a"),
]


@pytest.mark.parametrize(("written", "meant"), SAME)
def test_an_address_has_one_form(written, meant):
    assert canonical_url(written) == meant
    assert canonical_url(meant) == meant


def test_on_request_a_query_is_sorted_and_rid_of_what_only_follows_people():
    written = "https://example.org/a?b=2&utm_source=x&a=1&FBCLID=7&a=0&utm=kept&gclid=z"
    assert canonical_url(written, tidy_query=True) == "https://example.org/a?a=0&a=1&b=2&utm=kept"


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("ftp://example.org/a", "http:// or https://"),
        ("/etc/passwd", "http:// or https://"),
        ("file:///etc/passwd", "http:// or https://"),
        ("", "http:// or https://"),
        ("https:///a", "no host"),
        ("https://ada:secret@example.org/a", "--header"),
        ("https://example.org/a b", "%20"),
        ("https://example.org/a\x00b", "control"),
        ("https://example.org/a\r\nHost: evil", "control"),
        ("https://example.org:port/", "cannot be read"),
        ("https://example.org:99999/", "cannot be read"),
        ("http://[::1/", "cannot be read"),
        ("https://example.org/" + "a" * 9_000, "8,192"),
    ],
)
def test_what_is_no_address_is_refused_with_a_reason(written, reason):
    with pytest.raises(UrlRefused, match=reason):
        canonical_url(written)


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_form_of_a_form_is_itself(path, query):
    try:
        found = canonical_url(f"https://example.org/{path}?{query}")
    except UrlRefused:
        return
    assert canonical_url(found) == found
    assert found.isascii()


def test_host_and_name_are_those_a_person_would_use():
    assert host_of("https://example.org:8443/a") == "example.org:8443"
    assert name_of("https://example.org/a/Gr%C3%BC%C3%9Fe%20v2.pdf?x=1") == "Grüße v2.pdf"
    assert name_of("https://example.org/") == ""


@given(st.from_regex(IN_FORM))
def test_what_is_seen_at_a_glance_to_be_in_form_is_what_a_closer_look_would_make_of_it(url):
    assert canonical_url(url) == canonical_url(f"{url}#page=2")  # the closer look takes that away


@pytest.mark.parametrize("url", ["http://a.b/c\n", "http://a.b/c\nd", "http://a.b:99999/c", "http://a.b/c d"])
def test_what_is_almost_in_form_gets_the_closer_look(url):
    try:
        found = canonical_url(url)
    except UrlRefused:
        return
    assert found == url.strip()
