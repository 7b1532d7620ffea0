"""Downloads through a proxy, a process of its own: forwarded over http, through a tunnel over https."""

import pytest

from tests.pipelines.download.http.sync_client import CONTENT, SHA, failure_of, fetch
from tests.support.http.file_server import CERTIFICATE, FileServer
from tests.support.http.proxy import proxy_process, unset_proxies


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """An environment that names no proxy."""
    unset_proxies(monkeypatch)
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    return monkeypatch


@pytest.fixture
def proxy(tmp_path):
    with proxy_process(tmp_path) as found:
        yield found


def named(url):
    """The same address under a name that only the proxy can find: this machine itself is never asked through one."""
    return url.replace("127.0.0.1", "files.example")


def requests_of(log):
    """The requests that a proxy got, without the HTTP version."""
    return [line.rpartition(" ")[0] for line in log.read_text().splitlines()[1:]]


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
def test_http_is_forwarded_by_the_proxy(environment, proxy, server, make_client, part, name):
    environment.setenv(name, f"http://{proxy[0]}")
    url = named(server.add("/a", CONTENT))
    assert fetch(make_client(), url, part).sha256 == SHA
    assert requests_of(proxy[1]) == [f"HEAD {url}", f"GET {url}"]


@pytest.mark.parametrize("name", ["https_proxy", "HTTPS_PROXY"])
def test_https_goes_through_one_tunnel_that_is_used_again(environment, proxy, make_client, part, name):
    environment.setenv(name, proxy[0])
    with FileServer(tls=True) as safe:
        assert fetch(make_client(), named(safe.add("/a", CONTENT)), part).sha256 == SHA
        assert requests_of(proxy[1]) == [f"CONNECT {named(safe.host)}"]


def test_a_file_is_resumed_through_a_tunnel(environment, proxy, make_client, part):
    environment.setenv("HTTPS_PROXY", proxy[0])
    with FileServer(tls=True) as safe:
        url = named(safe.add("/a", CONTENT, cut_after=[100_000]))
        assert failure_of(make_client(), url, part).error_class == "NETWORK_RESET"
        assert fetch(make_client(), url, part).fetched == len(CONTENT) - 100_000


@pytest.mark.parametrize("bypass", ["files.example", "*", "example.org,.example"])
def test_hosts_of_no_proxy_are_asked_directly(environment, proxy, server, make_client, part, bypass):
    environment.setenv("HTTP_PROXY", proxy[0])
    environment.setenv("NO_PROXY", bypass)
    assert failure_of(make_client(), named(server.add("/a", CONTENT)), part).error_class == "NETWORK_DNS"
    assert requests_of(proxy[1]) == []


def test_this_machine_is_asked_directly(environment, proxy, server, make_client, part):
    environment.setenv("HTTP_PROXY", proxy[0])
    assert fetch(make_client(), server.add("/a", CONTENT), part).sha256 == SHA
    assert requests_of(proxy[1]) == []


@pytest.mark.parametrize("tls", [False, True])
def test_a_proxy_gets_its_account_and_the_server_does_not(environment, make_client, part, tmp_path, tls):
    with proxy_process(tmp_path, "user:p@ss") as (proxy, _), FileServer(tls=tls) as server:
        environment.setenv("ALL_PROXY", f"http://user:p%40ss@{proxy}")
        assert fetch(make_client(), named(server.add("/a", CONTENT)), part).sha256 == SHA
        assert not [line for line in server.log if "proxy-authorization" in line.headers]


@pytest.mark.parametrize("tls", [False, True])
def test_a_proxy_that_wants_an_account_is_a_refusal_for_good(environment, make_client, part, tmp_path, tls):
    with proxy_process(tmp_path, "user:secret") as (proxy, _), FileServer(tls=tls) as server:
        environment.setenv("ALL_PROXY", proxy)
        failure = failure_of(make_client(), named(server.add("/a", CONTENT)), part)
        assert (failure.error_class, failure.retryable) == ("AUTH_DENIED", False)
        assert server.log == []


def test_the_certificate_at_the_end_of_a_tunnel_is_checked(environment, proxy, make_client, part):
    environment.delenv("SSL_CERT_FILE")
    environment.setenv("HTTPS_PROXY", proxy[0])
    with FileServer(tls=True) as safe:
        failure = failure_of(make_client(), named(safe.add("/a", CONTENT)), part)
        assert (failure.error_class, failure.retryable, safe.log) == ("TLS_INVALID", False, [])


def test_a_proxy_that_is_not_there_is_tried_again(environment, server, make_client, part):
    with FileServer() as gone:
        environment.setenv("HTTP_PROXY", gone.host)
    failure = failure_of(make_client(), named(server.add("/a", CONTENT)), part)
    assert (failure.error_class, failure.retryable) == ("NETWORK_RESET", True)


@pytest.mark.parametrize("address", ["socks5://127.0.0.1:1", "https://127.0.0.1:1", "http://127.0.0.1:many", "http://"])
def test_a_proxy_that_cannot_be_used_is_a_refusal_for_good(environment, make_client, part, address):
    environment.setenv("HTTPS_PROXY", address)
    failure = failure_of(make_client(), "https://files.example/a", part)
    assert not failure.retryable
    assert "proxy" in failure.message
