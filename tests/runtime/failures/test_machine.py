"""Errors of mail servers, programs, files and malformed input, met for real."""

import asyncio
import json
import socket
import subprocess
import sys
from smtplib import SMTP, SMTPAuthenticationError, SMTPException, SMTPRecipientsRefused

import msgspec
import pytest
from aiosmtpd.controller import Controller

from leasehold.model.failure.failure import classify
from tests.runtime.failures.test_http import SHORT, failure_of


class Postmaster:
    """Answers with the code in the local part of an address: `451@example.com` is refused with 451."""

    async def hear_sender(self, server, session, envelope, address, options):
        envelope.mail_from = address
        return reply_for(address)

    async def hear_recipient(self, server, session, envelope, address, options):
        envelope.rcpt_tos.append(address)
        return reply_for(address)

    async def hear_text(self, server, session, envelope):
        return reply_for(envelope.content.decode().strip())

    handle_MAIL, handle_RCPT, handle_DATA = hear_sender, hear_recipient, hear_text  # noqa: N815 — SMTP commands


def reply_for(text: str) -> str:
    code = text.partition("@")[0].partition(" ")[0]
    return f"{code} so it is" if code.isdigit() else "250 OK"


class PostOffice(Controller):
    """A controller that learns which port the system gave it."""

    def _trigger_server(self):
        assert isinstance(self.server, asyncio.Server)
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@pytest.fixture(scope="module")
def post():
    """A real SMTP server: its host and port."""
    office = PostOffice(Postmaster(), hostname="127.0.0.1", port=0)
    office.start()
    yield office.hostname, office.port
    office.stop()


def send(post: tuple[str, int], sender: str, recipients: list[str], text: str = "hello") -> None:
    with SMTP(post[0], post[1], timeout=5) as line:
        line.sendmail(sender, recipients, text)


@pytest.mark.parametrize(
    ("sender", "recipients", "text", "error_class", "code"),
    [
        ("a@x.org", ["451@x.org"], "hello", "UPSTREAM_UNAVAILABLE", 451),
        ("a@x.org", ["550@x.org"], "hello", "NOT_FOUND", 550),
        ("a@x.org", ["550@x.org", "450@x.org"], "hello", "UPSTREAM_UNAVAILABLE", 550),
        ("553@x.org", ["b@x.org"], "hello", "POLICY_REJECTED", 553),
        ("530@x.org", ["b@x.org"], "hello", "AUTH_DENIED", 530),
        ("a@x.org", ["b@x.org"], "554", "POLICY_REJECTED", 554),
        ("a@x.org", ["b@x.org"], "552", "SCHEMA_INVALID", 552),
        ("a@x.org", ["b@x.org"], "452", "UPSTREAM_UNAVAILABLE", 452),
    ],
)
def test_the_reply_of_a_mail_server_decides(post, sender, recipients, text, error_class, code):
    failure = failure_of(lambda: send(post, sender, recipients, text))
    assert failure.error_class == error_class, failure
    assert failure.retryable is (error_class == "UPSTREAM_UNAVAILABLE")
    assert failure.context["smtp_code"] == code


def test_a_line_that_breaks_is_a_reset_and_a_server_without_login_is_a_bug(post):
    def hang_up() -> None:
        with SMTP(post[0], post[1], timeout=5) as line:
            assert line.sock is not None
            line.sock.shutdown(socket.SHUT_RDWR)
            line.noop()

    def log_in() -> None:
        with SMTP(post[0], post[1], timeout=5) as line:
            line.login("a", "b")

    assert failure_of(hang_up).error_class == "NETWORK_RESET"
    assert failure_of(log_in).error_class == "BUG"
    assert classify(SMTPException("who knows")).error_class == "UNCLASSIFIED"


def test_credentials_that_are_refused_are_final_and_a_login_that_is_down_is_not():
    refused = classify(SMTPAuthenticationError(535, b"5.7.8 no"))
    down = classify(SMTPAuthenticationError(454, b"4.7.0 later"))
    assert (refused.error_class, refused.retryable) == ("AUTH_DENIED", False)
    assert (down.error_class, down.retryable) == ("UPSTREAM_UNAVAILABLE", True)
    assert classify(SMTPRecipientsRefused({"a@x.org": (550, b"5.7.1 no")})).error_class == "POLICY_REJECTED"
    assert classify(SMTPRecipientsRefused({})).error_class == "UNCLASSIFIED"


def test_programs_that_fail_keep_their_exit_code_or_signal():
    def run(program: str, timeout: float | None = None) -> None:
        subprocess.run([sys.executable, "-c", program], check=True, timeout=timeout)

    failed = failure_of(lambda: run("raise SystemExit(3)"))
    killed = failure_of(lambda: run("import os; os.kill(os.getpid(), 9)"))
    slow = failure_of(lambda: run("import threading; threading.Event().wait()", timeout=SHORT))
    absent = failure_of(lambda: subprocess.run(["/no/such/program"], check=True))
    assert (failed.error_class, failed.retryable, failed.context) == ("PROCESS_FAILED", True, {"exit_code": 3})
    assert (killed.error_class, killed.retryable, killed.context) == ("PROCESS_FAILED", True, {"signal": 9})
    assert (slow.error_class, slow.retryable) == ("PROCESS_TIMEOUT", True)
    assert (absent.error_class, absent.retryable, absent.context) == ("NOT_FOUND", False, {"errno": 2})


def test_files_and_sockets_of_this_machine_have_their_classes(tmp_path):
    (tmp_path / "file").touch()

    def fill() -> None:
        with open("/dev/full", "w") as full:  # noqa: PTH123 — the device is the point
            full.write("x")

    full = failure_of(fill)
    assert (full.error_class, full.retryable, full.context) == ("DISK_FULL", True, {"errno": 28})
    assert failure_of((tmp_path / "absent").read_text).error_class == "NOT_FOUND"
    assert failure_of((tmp_path / "file" / "below").read_text).error_class == "NOT_FOUND"
    assert failure_of(tmp_path.read_text).error_class == "BUG"
    assert failure_of(tmp_path.mkdir).error_class == "CONFLICT"
    assert failure_of((tmp_path / ("x" * 300)).touch).error_class == "SCHEMA_INVALID"
    assert classify(PermissionError(13, "denied")).error_class == "AUTH_DENIED"


def test_malformed_input_is_never_tried_again():
    for act in (
        lambda: json.loads("{"),
        b"\xff".decode,
        lambda: msgspec.json.decode(b"{"),
        lambda: msgspec.convert("x", int),
    ):
        failure = failure_of(act)
        assert (failure.error_class, failure.retryable) == ("SCHEMA_INVALID", False)
