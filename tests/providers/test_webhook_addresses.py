"""Where a webhook may connect: public addresses only, looked at once, and exactly those."""

import ipaddress

import pytest

from leasehold.errors import OptionInvalid
from leasehold.model.delivery import NotSent, Refused, Unknown
from leasehold.outbound import ascii_host, is_public
from leasehold.providers import Webhook
from tests.providers.messages import sample_message
from tests.providers.receiver import Receiver, Response

PRIVATE = [
    "127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "192.0.2.1", "198.18.0.1", "192.88.99.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
    str(ipaddress.IPv4Address(0)),
    "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254",
    "ff02::1", "ff0e::1", "2001:db8::1", "2001::1", "3fff::1", "5f00::1", "100::1", "64:ff9b:1::808:808",
    "64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "2002:c0a8:101::1",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "2a00:1450::1", "64:ff9b::8.8.8.8", "2002:808:808::1"]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_public_is_never_connected_to(address):
    assert not is_public(ipaddress.ip_address(address))
    with pytest.raises(Refused, match="not a permitted address"):
        Webhook("https://hooks.example/", resolver=lambda *_: [address]).send(sample_message())
    with pytest.raises(OptionInvalid):
        Webhook(f"http://[{address}]/" if ":" in address else f"http://{address}/")


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_one_also_when_it_is_carried_inside_another(address):
    assert is_public(ipaddress.ip_address(address))


def test_one_address_that_is_not_public_among_several_is_enough_to_refuse():
    with pytest.raises(Refused, match=r"10\.0\.0\.1"):
        Webhook("https://hooks.example/", resolver=lambda *_: ["8.8.8.8", "10.0.0.1"]).send(sample_message())


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1"])
def test_other_spellings_of_this_machine_do_not_get_through(host):
    with Receiver(Response()) as receiver, pytest.raises((Refused, NotSent, OptionInvalid)):
        Webhook(f"http://{host}:{receiver.port}/").send(sample_message())
    assert receiver.requests == []


def test_a_name_is_resolved_once_and_the_connection_goes_to_what_was_looked_at():
    """DNS rebinding: a second answer would lead elsewhere; it is never asked for."""
    answers = [["127.0.0.1"], ["192.0.2.1"]]
    with Receiver(Response()) as receiver:
        url = f"http://hooks.example:{receiver.port}/"
        Webhook(url, allow_private=True, resolver=lambda *_: answers.pop(0)).send(sample_message())
    assert len(answers) == 1
    assert receiver.requests[0].headers["Host"] == f"hooks.example:{receiver.port}"


def test_a_look_up_goes_nowhere_that_a_message_may_not_go():
    with Receiver(Response(404)) as receiver:
        provider = Webhook("https://hooks.example/", lookup_url=f"http://localhost:{receiver.port}/{{token}}")
        assert isinstance(provider.find(sample_message(), None), Unknown)
    assert receiver.requests == []


def test_proxies_of_the_environment_are_not_used(monkeypatch):
    with Receiver(Response()) as proxy, Receiver(Response()) as receiver:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        Webhook(receiver.url, allow_private=True).send(sample_message())
    assert (len(proxy.requests), len(receiver.requests)) == (0, 1)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://hooks.example/",
        "file:///etc/passwd",
        "gopher://hooks.example/",
        "hooks.example/x",
        "https://user:password@hooks.example/",
        "https://user@hooks.example/",
        "https://@hooks.example/",
        "https://hooks.example\\@10.0.0.1/",
        "https://hooks.example/#@10.0.0.1/",
        "https://hooks.example/\r\nX-Evil: 1",
        "https://hooks.example/a b",
        "https://hooks.example/ä",
        "https://hooks.example:99999/",
        "https://hooks.example:0/",
        "https://hooks.example:x/",
        "https://hooks%2eexample/",
        "https:///path",
        "https://",
        "http://[fe80::1%25eth0]/",
        "http://[::1/",
        "http://[hooks.example]/",
        "",
    ],
)
def test_a_url_that_two_readers_could_read_differently_is_refused_and_not_quoted(url):
    with pytest.raises(OptionInvalid) as caught:
        Webhook(url, allow_private=True)
    assert "password@" not in str(caught.value)


def test_a_host_is_written_as_dns_carries_it_or_refused():
    assert ascii_host("Bücher.Example") == "xn--bcher-kva.example"
    assert ascii_host("a_b.example") == "a_b.example"
    for name in ("straße.example", "a..b", "-a.example", "a-.example", "", "a b", "a" * 64, "x." * 130 + "y"):
        with pytest.raises(ValueError, match=r"host|label"):
            ascii_host(name)
