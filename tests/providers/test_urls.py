"""One line of configuration becomes one provider, and never a message that quotes a password."""

import pytest

from leasehold.errors import OptionInvalid
from leasehold.model.delivery import Sent
from leasehold.providers import Folder, Smtp, Webhook, from_url
from tests.providers.messages import sample_message
from tests.providers.post_office import PostOffice
from tests.providers.receiver import Receiver, Response

KEY = "pass%40word"
OUTSIDE = "from outside"


def test_a_folder_is_named_by_its_path(tmp_path):
    provider = from_url(f"folder://{tmp_path}/a%20b")
    assert isinstance(provider, Folder)
    provider.send(sample_message())
    assert len(list((tmp_path / "a b").iterdir())) == 1
    assert from_url("folder:letters/out") == Folder("letters/out")


@pytest.mark.parametrize(("scheme", "tls"), [("smtp+starttls", "starttls"), ("smtps", "tls")])
def test_a_mail_server_is_named_with_its_security_and_its_login(scheme, tls):
    provider = from_url(f"{scheme}://robot%40x:{KEY}@mail.example:2525/?from=a%40example.org&name=A+B&timeout=5")
    assert isinstance(provider, Smtp)
    assert (provider.host, provider.port, provider.tls, provider.timeout) == ("mail.example", 2525, tls, 5)
    assert (provider.user, provider.password, provider.sender_name) == ("robot@x", "pass@word", "A B")
    assert provider.sender == "a@example.org"
    assert "pass@word" not in repr(provider)


def test_a_password_comes_from_the_environment_if_the_url_names_a_variable(monkeypatch):
    monkeypatch.setenv("MAIL_PASSWORD", OUTSIDE)
    provider = from_url("smtps://robot@mail.example/?from=a@example.org&password_env=MAIL_PASSWORD")
    assert isinstance(provider, Smtp)
    assert provider.password == OUTSIDE
    monkeypatch.delenv("MAIL_PASSWORD")
    with pytest.raises(OptionInvalid, match="MAIL_PASSWORD"):
        from_url("smtps://robot@mail.example/?from=a@example.org&password_env=MAIL_PASSWORD")


def test_a_provider_made_from_a_url_sends_mail():
    with PostOffice() as office:
        provider = from_url(f"smtp://localhost:{office.port}/?from=a@example.org")
        assert provider.send(sample_message()) == Sent("2.0.0 Ok: queued as 0001")


def test_a_webhook_keeps_its_own_parameters_and_loses_ours(monkeypatch):
    monkeypatch.setenv("HOOK_KEY", "shared between two")
    monkeypatch.setenv("HOOK_AUTH", "Bearer abcdefgh")
    with Receiver(Response(404)) as receiver:
        lookup = f"http%3A%2F%2F127.0.0.1%3A{receiver.port}%2Ffind%2F%7Btoken%7D"
        url = (
            f"{receiver.url}/x?b=%2f&leasehold_private=1&leasehold_lookup={lookup}&a&leasehold_timeout=9"
            "&leasehold_secret_env=HOOK_KEY&leasehold_authorization_env=HOOK_AUTH&leasehold_header=X-Once"
        )
        provider = from_url(url)
        provider.find(sample_message(), None)
    assert isinstance(provider, Webhook)
    assert provider.url == f"{receiver.url}/x?b=%2f&a"
    assert (provider.secret, provider.timeout, provider.header) == ("shared between two", 9, "X-Once")
    assert receiver.requests[0].path == f"/find/{sample_message().token}"
    assert receiver.requests[0].headers["Authorization"] == "Bearer abcdefgh"


@pytest.mark.parametrize(
    "url",
    [
        f"smtps://robot:{KEY}@mail.example/",
        f"smtps://robot:{KEY}@mail.example/?from=a@example.org&colour=red",
        f"smtps://robot:{KEY}@mail.example/?from=a@example.org&from=b@example.org",
        f"smtps://robot:{KEY}@mail.example:x/?from=a@example.org",
        f"smtps://robot:{KEY}@mail.example/path?from=a@example.org",
        f"smtps://robot:{KEY}@mail.example/?from=nobody",
        f"smtps://robot:{KEY}@mail.example/?from=a@example.org&timeout=long",
        f"smtps://robot:{KEY}@mail.example/?from=a@example.org&insecure=yes",
        f"smtp://robot:{KEY}@mail.example/?from=a@example.org&insecure=1",
        f"smtps://robot:{KEY}@/?from=a@example.org",
        f"smtps://robot:{KEY}@[::1/?from=a@example.org",
        f"smtps://robot:{KEY}#x@mail.example/?from=a@example.org",
        f"smtps://robot:a/b{KEY}@mail.example/?from=a@example.org",
        f"https://robot:{KEY}@hooks.example/",
        f"https://hooks.example/?leasehold_colour={KEY}",
        f"carrier-pigeon://robot:{KEY}@mail.example/",
        "folder://host/path",
        "folder:///",
        "folder:///x?y=z",
        "",
    ],
)
def test_a_url_that_cannot_be_meant_is_refused_without_quoting_it(url):
    with pytest.raises(OptionInvalid) as caught:
        from_url(url)
    assert KEY not in str(caught.value)
    assert "pass@word" not in str(caught.value)
