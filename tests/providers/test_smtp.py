"""Mail over real SMTP: what is taken, what is refused for good, and what waits for another day."""

import email
from email.policy import SMTP

import pytest

from leasehold.errors import OptionInvalid
from leasehold.model.delivery import NotSent, Refused, Sent, Unknown
from leasehold.providers import Smtp
from tests.providers.listener import free_port
from tests.providers.mail_server import DROP, HANG, MailServer
from tests.providers.messages import client_context, sample_message, server_context
from tests.providers.post_office import PASSWORD, USER, PostOffice

STEPS = ["greeting", "EHLO", "MAIL", "RCPT", "DATA"]
SENDER = "robot@example.org"
LOGIN = {"user": USER, "password": PASSWORD}
WRONG = "wrong horse battery"


def plain(server, **options) -> Smtp:
    return Smtp(**{"host": "127.0.0.1", "port": server.port, "sender": SENDER, "tls": "none"} | options)


def configured(**options) -> Smtp:
    return Smtp(**{"host": "mail.example", "sender": SENDER} | options)


def test_a_mail_goes_to_one_recipient_and_the_servers_answer_is_its_id():
    with PostOffice() as office:
        assert plain(office).send(sample_message()) == Sent("2.0.0 Ok: queued as 0001")
    [envelope] = office.taken
    assert (envelope.mail_from, envelope.rcpt_tos) == (SENDER, ["ada@example.org"])
    mail = email.message_from_bytes(envelope.content, policy=SMTP)
    assert mail["Message-ID"] == f"<{sample_message().token}@example.org>"
    assert (mail["From"], mail["To"], mail["Subject"]) == (SENDER, "ada@example.org", "Review of change 17")
    assert mail.get_content() == "Three findings.\r\n"


def test_a_mail_that_is_sent_again_is_the_same_bytes_with_the_same_message_id():
    """S14: what may have been sent is in doubt, and a copy of it can be recognised."""
    with PostOffice() as office:
        for _ in range(2):
            plain(office).send(sample_message(html="<p>Three findings.</p>"))
    first, second = (envelope.content for envelope in office.taken)
    assert first == second
    assert first.startswith(f"Message-ID: <{sample_message().token}@example.org>\r\n".encode())


def test_a_line_with_a_dot_does_not_end_a_mail_and_comes_out_as_it_went_in():
    text = "first\n.\n..two\nQUIT\n"
    with PostOffice() as office:
        plain(office).send(sample_message(text=text))
    mail = email.message_from_bytes(office.taken[0].content, policy=SMTP)
    assert mail.get_content().replace("\r\n", "\n") == text


def test_a_mail_over_starttls_is_sent_with_the_login_given():
    with PostOffice(offers_tls=True, require_starttls=True, auth_required=True) as office:
        options = {"host": "localhost", "tls": "starttls", "context": client_context()}
        plain(office, **options, **LOGIN).send(sample_message())
    assert office.logins
    assert len(office.taken) == 1


def test_a_mail_over_implicit_tls_is_sent_to_a_server_whose_certificate_fits():
    with PostOffice(implicit=True) as office:
        plain(office, host="localhost", tls="tls", context=client_context()).send(sample_message())
    assert len(office.taken) == 1


@pytest.mark.parametrize("tls", ["starttls", "tls"])
@pytest.mark.parametrize(("host", "context"), [("localhost", None), ("127.0.0.1", client_context())])
def test_a_server_whose_certificate_does_not_fit_gets_no_mail(tls, host, context):
    with PostOffice(implicit=tls == "tls", offers_tls=tls == "starttls") as office:
        with pytest.raises(NotSent, match="certificate verify failed") as caught:
            plain(office, host=host, tls=tls, context=context, **LOGIN).send(sample_message())
        assert caught.value.retry_after > 0
    assert (office.logins, office.taken) == ([], [])


def test_a_server_without_starttls_gets_neither_the_mail_nor_the_login():
    with MailServer() as server, pytest.raises(NotSent, match="does not offer STARTTLS"):
        plain(server, tls="starttls", **LOGIN).send(sample_message())
    assert [command.split()[0].upper() for command in server.commands] == ["EHLO", "QUIT"]


def test_what_a_stranger_slips_in_before_tls_begins_is_not_believed():
    """An answer in the clear behind the go-ahead must not be taken for one that came by TLS."""
    script = {"EHLO": "250-mail.example\r\n250 STARTTLS", "STARTTLS": "220 go\r\n250-x\r\n250 AUTH PLAIN"}
    options = {"host": "localhost", "tls": "starttls", "context": client_context(), **LOGIN}
    with MailServer(server_context(), **script) as server, pytest.raises(NotSent, match="AUTH"):
        plain(server, **options).send(sample_message())
    assert not any(command.startswith("AUTH") for command in server.commands)


def test_a_wrong_password_fails_no_row_and_is_shown_to_nobody():
    """S14: a credential is for the operator to repair; the message waits."""
    with PostOffice(offers_tls=True, auth_required=True) as office:
        options = {"host": "localhost", "tls": "starttls", "context": client_context()}
        provider = plain(office, **options, user=USER, password=WRONG)
        with pytest.raises(NotSent, match="AUTH: 535") as caught:
            provider.send(sample_message())
    assert caught.value.retry_after >= 60
    assert WRONG not in f"{provider!r} {caught.value!r}"


def test_a_password_that_a_server_repeats_is_not_in_the_reason():
    script = {"EHLO": "250-mail.example\r\n250 AUTH PLAIN", "AUTH": f"535 5.7.8 {PASSWORD} is wrong"}
    with MailServer(**script) as server, pytest.raises(NotSent, match="AUTH: 535") as caught:
        plain(server, **LOGIN).send(sample_message())
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize("step", [*STEPS, "dot"])
def test_a_451_at_any_step_means_not_sent_and_again_later(step):
    """S14: the server itself replies that it has not taken the mail."""
    with MailServer(**{step: "451 greylisted"}) as server, pytest.raises(NotSent, match="451 greylisted") as caught:
        plain(server).send(sample_message())
    assert caught.value.retry_after == 0


@pytest.mark.parametrize("step", ["RCPT", "DATA", "dot"])
def test_a_550_about_the_message_refuses_that_message(step):
    """S14: a permanent refusal fails that row alone."""
    with MailServer(**{step: "550 no such user"}) as server, pytest.raises(Refused, match="550 no such user"):
        plain(server).send(sample_message())
    assert (step == "dot") == bool(server.bodies)


@pytest.mark.parametrize("step", ["greeting", "EHLO", "MAIL"])
def test_a_550_about_ourselves_fails_no_row(step):
    with MailServer(**{step: "550 5.7.1 go away"}) as server, pytest.raises(NotSent, match="550") as caught:
        plain(server).send(sample_message())
    assert caught.value.retry_after >= 60


def test_a_server_that_wants_a_login_first_fails_no_row():
    with MailServer(RCPT="530 5.7.0 Authentication required") as server, pytest.raises(NotSent, match="530"):
        plain(server).send(sample_message())


def test_one_bad_recipient_does_not_keep_the_next_message_from_going():
    """S14: bad recipients fail alone, each mail has one."""
    with PostOffice(answers={"gone@example.org": "550 5.1.1 unknown"}) as office:
        provider = plain(office)
        with pytest.raises(Refused):
            provider.send(sample_message("gone@example.org"))
        provider.send(sample_message())
    assert [envelope.rcpt_tos for envelope in office.taken] == [["ada@example.org"]]


@pytest.mark.parametrize("silence", [DROP, HANG])
@pytest.mark.parametrize("step", STEPS)
def test_a_server_lost_before_the_body_has_certainly_not_taken_it(step, silence):
    """S14: before the final dot nothing is sent."""
    with MailServer(**{step: silence}) as server, pytest.raises(NotSent):
        plain(server, timeout=0.3 if silence is HANG else 60).send(sample_message())
    assert server.bodies == []


def test_a_server_that_cannot_be_reached_has_certainly_not_taken_it():
    with pytest.raises(NotSent, match="cannot be reached"):
        Smtp(host="127.0.0.1", port=free_port(), sender=SENDER, tls="none").send(sample_message())


def test_a_server_that_cannot_be_found_has_certainly_not_taken_it():
    with pytest.raises(NotSent, match="cannot be resolved"):
        Smtp(host="mail.invalid", sender=SENDER).send(sample_message())


def test_a_mail_larger_than_the_server_takes_is_refused_before_it_is_sent():
    offer = "250-mail.example\r\n250 SIZE 100"
    with MailServer(EHLO=offer) as server, pytest.raises(Refused, match="the server takes 100"):
        plain(server).send(sample_message())
    assert not any(command.startswith("MAIL") for command in server.commands)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("nonsense", ["250 " + "x" * 10_000, "what?", "999 no", "250-x\r\n" * 20_000])
def test_an_answer_that_cannot_be_read_before_the_body_fails_no_row(step, nonsense):
    answer = nonsense.replace("250 ", "550 ") if step in {"RCPT", "DATA"} else nonsense
    with MailServer(**{step: answer}) as server, pytest.raises(NotSent):
        plain(server).send(sample_message())
    assert server.bodies == []


def test_a_size_that_is_no_number_is_no_limit():
    with MailServer(EHLO="250-mail.example\r\n250 SIZE " + "9" * 5_000) as server:
        assert plain(server).send(sample_message()) == Sent("2.0.0 Ok: queued as 4XyZ")


def test_an_international_address_goes_only_to_a_server_that_offers_smtputf8():
    with PostOffice(enable_SMTPUTF8=True) as office:
        plain(office).send(sample_message("żółć@bücher.example", title="Прeдложение"))
    assert office.taken[0].rcpt_tos == ["żółć@xn--bcher-kva.example"]
    assert office.taken[0].smtp_utf8
    with MailServer() as server, pytest.raises(Refused, match="SMTPUTF8"):
        plain(server).send(sample_message("żółć@bücher.example"))


def test_plain_smtp_cannot_be_asked_so_a_look_up_returns_unknown():
    """S14: what a provider cannot answer becomes in doubt."""
    found = Smtp(host="mail.example", sender=SENDER).find(sample_message(), "250 queued")
    assert isinstance(found, Unknown)
    assert sample_message().token in found.why


@pytest.mark.parametrize(
    "options",
    [
        {"tls": "none"},
        {"tls": "none", "host": "192.0.2.1"},
        {"tls": "none", "insecure": True, "user": USER, "password": PASSWORD},
        {"tls": "ssl3"},
        {"user": USER},
        {"user": USER, "password": "two\r\nlines"},
        {"user": USER, "password": "pässword"},
        {"port": 70_000},
        {"timeout": 0},
        {"timeout": float("inf")},
        {"sender": "Robot <robot@example.org>"},
        {"sender": "robot@example.org\r\nBcc: all@example.org"},
        {"sender_name": "Robot\r\nBcc: all@example.org"},
        {"host": "mail.example\r\nQUIT"},
        {"hello": "here\r\nMAIL"},
        {"id_domain": "example.org>"},
    ],
)
def test_options_that_could_not_send_or_not_safely_are_refused_at_once(options):
    with pytest.raises(OptionInvalid) as caught:
        configured(**options)
    assert PASSWORD not in str(caught.value)


def test_without_tls_a_mail_stays_on_this_machine_wherever_localhost_leads():
    with pytest.raises(Refused, match=r"localhost resolves to 192\.0\.2\.1"):
        Smtp(host="localhost", sender=SENDER, tls="none", resolver=lambda *_: ["192.0.2.1"]).send(sample_message())


def test_a_password_is_not_in_what_a_provider_shows_of_itself():
    shown = repr(Smtp(host="mail.example", sender=SENDER, user=USER, password=PASSWORD))
    assert PASSWORD not in shown
    assert "mail.example" in shown
