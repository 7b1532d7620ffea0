"""Servers behind TLS: only one whose certificate is trusted is asked for anything."""

from leasehold.pipelines.download import read_manifest
from leasehold.pipelines.download.http.response import HEAD_BYTES_MAX
from tests.pipelines.download.http.sync_client import CONTENT, SHA, failure_of, fetch
from tests.support.http.file_server import CERTIFICATE, FileServer


def test_own_headers_do_not_follow_from_https_to_http(make_client, part, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    client = make_client(headers={"Authorization": "secret"})
    with FileServer(tls=True) as safe, FileServer() as plain:
        aim = plain.add("/file", CONTENT)
        url = safe.add("/a", location=aim, wanted_headers={"authorization": "secret"})
        assert fetch(client, url, part).sha256 == SHA
        assert not [line for line in plain.log if "authorization" in line.headers]


def test_a_certificate_that_nobody_trusts_is_refused_for_good_and_nothing_is_fetched(client, part):
    with FileServer(tls=True) as safe:
        failure = failure_of(client, safe.add("/a", CONTENT), part)
        assert (failure.error_class, failure.retryable) == ("TLS_INVALID", False)
        assert safe.log == []


def test_a_certificate_that_was_made_known_is_trusted(make_client, part, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with FileServer(tls=True) as safe:
        assert fetch(make_client(), safe.add("/a", CONTENT), part).sha256 == SHA


def test_a_connection_that_was_paused_by_a_body_as_large_as_its_buffer_is_used_again(make_client, part, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    client = make_client(timeout=20)
    with FileServer(tls=True) as safe:
        for number in range(4):
            part.remove()
            assert fetch(client, safe.add(f"/{number}", CONTENT[:HEAD_BYTES_MAX]), part).size == HEAD_BYTES_MAX


def test_a_certificate_of_another_host_is_refused_for_good(make_client, part, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with FileServer(tls=True) as safe:
        url = safe.add("/a", CONTENT).replace("127.0.0.1", "127.1")  # the same place by a name it does not have
        failure = failure_of(make_client(), url, part)
        assert (failure.error_class, failure.retryable) == ("TLS_INVALID", False)
        assert safe.log == []


def test_a_port_that_does_not_speak_tls_is_a_line_that_broke(server, client, part):
    url = server.add("/a", CONTENT).replace("http:", "https:")
    failure = failure_of(client, url, part)
    assert (failure.error_class, failure.retryable) == ("NETWORK_RESET", True)


def test_a_file_of_a_server_that_nobody_trusts_fails_at_once_and_nothing_is_left(collection):
    with FileServer(tls=True) as safe:
        (job,) = collection.plan(read_manifest([safe.add("/a", CONTENT)]))
        collection.app.drain(timeout=120)
        assert (job.state, job.failure["error_class"]) == ("FAILED", "TLS_INVALID")
        assert safe.log == []
    assert list(collection.content_store.root.rglob("*.part")) == []
