"""The final dot: before it a lost mail was not sent, after it nobody knows."""

import pytest

from leasehold.model.delivery import NotSent, Refused, Sent
from leasehold.providers import MaybeSent, Smtp
from tests.providers.mail_server import DROP, DROP_IN_THE_BODY, HANG, MailServer
from tests.providers.messages import sample_message

LARGE = "a line that no buffer on the way can hold all of\n" * 600_000


def plain(server, **options) -> Smtp:
    return Smtp(host="127.0.0.1", port=server.port, sender="robot@example.org", tls="none", **options)


def test_a_server_that_takes_the_mail_and_drops_the_connection_leaves_it_in_doubt():
    """S14: e-mail over plain SMTP cannot be exactly-once; the server has the whole mail and has not confirmed it."""
    with MailServer(dot=DROP) as server, pytest.raises(MaybeSent, match="its answer did not come"):
        plain(server).send(sample_message())
    assert len(server.bodies) == 1


def test_a_server_that_takes_the_mail_and_falls_silent_leaves_it_in_doubt():
    """S14: as above, with a time-out."""
    with MailServer(dot=HANG) as server, pytest.raises(MaybeSent):
        plain(server, timeout=2).send(sample_message())
    assert len(server.bodies) == 1


@pytest.mark.parametrize("answer", ["what?", "354 more", "150 wait", "250-and\r\nnonsense", "250-x\r\n" * 20_000, ""])
def test_an_answer_that_cannot_be_read_leaves_the_mail_in_doubt(answer):
    with MailServer(dot=answer) as server, pytest.raises(MaybeSent):
        plain(server).send(sample_message())


def test_a_line_without_end_for_an_answer_leaves_the_mail_in_doubt():
    """The library reports such a line as a 500, which would wrongly mean that the mail was refused."""
    with MailServer(dot="250 " + "x" * 10_000) as server, pytest.raises(MaybeSent):
        plain(server).send(sample_message())


def test_a_server_that_hangs_up_within_the_body_has_certainly_not_taken_it():
    """S14: without the final dot there is no mail."""
    with MailServer(dot=DROP_IN_THE_BODY) as server, pytest.raises(NotSent):
        plain(server).send(sample_message(text=LARGE))
    assert server.bodies == []


def test_a_server_that_objects_before_the_end_gets_no_final_dot():
    objection = "354 go ahead\r\n552 5.3.4 too large after all"
    with MailServer(DATA=objection) as server, pytest.raises(Refused, match="552"):
        plain(server).send(sample_message())
    assert "." not in server.commands


def test_a_connection_lost_after_the_answer_changes_nothing():
    with MailServer(QUIT=DROP) as server:
        assert plain(server).send(sample_message()) == Sent("2.0.0 Ok: queued as 4XyZ")


def test_an_empty_yes_is_a_yes_and_the_message_id_stands_for_it():
    with MailServer(dot="250") as server:
        assert plain(server).send(sample_message()) == Sent(f"<{sample_message().token}@example.org>")


def test_an_answer_is_kept_whole_as_one_line():
    with MailServer(dot="250-first\x07\r\n250 second " + "x" * 900) as server:
        kept = plain(server).send(sample_message()).notification_id
    assert kept == "first second " + "x" * 900
