"""E-mail addresses, confidential hosts and private addresses, when a policy asks for it."""

import pytest

from leasehold.errors import Misuse
from leasehold.redact import Policy
from tests.redact.checks import check_left_alone, clean
from tests.support.rows import every_row

HOSTS = (".corp.example", "vault", "build.example.org")


@every_row("address", ["a@b.example", "first.last+tag@mail.example.org", "x_y-z@ex-ample.co", "jörg@exämple.org"])
@every_row("place", ["{}", "<{}>", "mailto:{}", "From: A <{}>, B", "'{}'"])
def test_an_address_is_hidden_when_the_policy_asks_for_it(address, place):
    found = clean(place.replace("{}", address), emails=True)
    assert "[REDACTED:email#1]" in found
    assert address.split("@")[1] not in found


def test_addresses_stay_by_default():
    check_left_alone("Co-authored-by: A <a@b.example> at db.corp.example, 10.0.0.1")


@every_row("text", ["@decorator", "a @ b", "x@localhost", "git@github.com:a/b.git", "@media print", "user@"])
def test_an_at_sign_alone_makes_no_address(text):
    assert clean(text, emails=True) == text


def test_user_and_host_of_a_uri_are_no_address():
    text = "postgres://u:secretive@db.example.org/x https://me@example.org/"
    assert clean(text, emails=True) == text.replace("secretive", "[REDACTED:uri_password#1]")


@every_row(
    "host", ["db.corp.example", "a.b-c.corp.example", "DB.Corp.Example", "vault", "x.vault", "build.example.org"]
)
@every_row("place", ["{}", "https://{}:8443/x", "to {}.", "[{}]", "user@{}"])
def test_a_confidential_host_is_hidden_whole(host, place):
    assert clean(place.replace("{}", host), hosts=HOSTS) == place.replace("{}", "[REDACTED:host#1]")


@every_row("text", ["corp.example.org", "vaulted", "my-vault", "db.corp.examples", "rebuild.example.org"])
def test_a_host_that_only_resembles_a_confidential_one_is_left_alone(text):
    assert clean(text, hosts=HOSTS) == text


@every_row(
    "address",
    ["10.0.0.1", "192.168.1.255", "172.16.0.9", "172.31.255.1", "169.254.1.1", "100.64.0.1", "fd00::1", "fe80::1%eth0"],
)
@every_row("place", ["{}", "http://{}/", "[{}]", "peer {}, gone", "{}."])
def test_a_private_address_is_hidden_when_the_policy_asks_for_it(address, place):
    assert clean(place.replace("{}", address), addresses=True) == place.replace("{}", "[REDACTED:address#1]")


@every_row(
    "text",
    [
        "8.8.8.8",
        "172.32.0.1",
        "110.0.0.1",
        "10.0.0",
        "version 10.0.0.1.2",
        "10.0.0.256",
        "2001:db8::1",
        "face:book",
        "fd",
    ],
)
def test_a_public_address_or_a_version_is_left_alone(text):
    assert clean(text, addresses=True) == text


@every_row("hosts", ["corp.example", [""], ["a"], [".a."], [7]])
def test_hosts_that_would_hide_everything_are_refused(hosts):
    with pytest.raises(Misuse):
        Policy(hosts=hosts)
