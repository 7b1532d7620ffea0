"""A message as a mail: always the same bytes, and nothing in it can become a header or a second recipient."""

import email
from dataclasses import replace
from email.header import decode_header, make_header
from email.policy import SMTP, compat32
from email.utils import getaddresses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.model.delivery import Message, Refused
from leasehold.providers.mail import Mailbox, Sender, compose
from tests.providers.messages import sample_message

SENDER = Sender(Mailbox.parse("robot@example.org"))
BREAKS = ["\r\n", "\n", "\r", "\0", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", "\x1b"]


def read(content: bytes):
    return email.message_from_bytes(content, policy=SMTP)


@pytest.mark.parametrize("mark", BREAKS)
def test_a_line_break_of_any_kind_in_a_title_is_refused(mark):
    with pytest.raises(Refused):
        compose(sample_message(title=f"Hello{mark}Bcc: all@example.org"), SENDER)


@pytest.mark.parametrize(
    "words",
    [
        "=?utf-8?q?a=0D=0ABcc=3A_all=40example.org?=",
        "=?utf-8?q?a=0D=0A=0D=0Abody?=",
        "=?utf-8?b?YQ0KQmNjOiBhbGxAZXhhbXBsZS5vcmc=?= b",
        "=?utf-7?q?+AA0ACg-Bcc?=",
        " " * 300,
        'a" <all@example.org>, "b',
        "x" * 500,
        "word " * 99 + "end",
    ],
)
def test_words_that_look_like_an_encoded_line_break_stay_words(words):
    """Header injection by encoding: Python's header objects decode such words and write the line break out."""
    headers = compose(sample_message(title=words), Sender(SENDER.mailbox, words)).content.partition(b"\r\n\r\n")[0]
    lines = [line for line in headers.split(b"\r\n") if not line.startswith(b" ")]
    assert [line.partition(b":")[0].decode() for line in lines] == [
        "Message-ID", "From", "To", "Subject", "Auto-Submitted", "Content-Type", "Content-Transfer-Encoding",
        "MIME-Version",
    ]  # fmt: skip
    assert all(line.strip() for line in headers.split(b"\r\n"))
    mail = email.message_from_bytes(headers, policy=compat32)
    assert str(make_header(decode_header(mail["Subject"]))) == words
    assert len(getaddresses([mail["From"].replace("\r\n", "")])) == 1


@pytest.mark.parametrize("field", ["recipient", "reply_to"])
@pytest.mark.parametrize(
    "address",
    [
        *(f"ada{mark}@example.org" for mark in BREAKS),
        "ada@example.org\r\nRCPT TO:<all@example.org>",
        "ada@example.org, all@example.org",
        "ada@example.org all@example.org",
        "Ada <ada@example.org>",
        "<ada@example.org>",
        "ada@example.org>",
        "(comment)ada@example.org",
        '"ada lovelace"@example.org',
        "ada@[127.0.0.1]",
        "ada@@example.org",
        "ada..l@example.org",
        "ada@example..org",
        "ada@-example.org",
        "ada@example.org.",
        "ada",
        "@example.org",
        "",
        "ada@",
        "a" * 65 + "@example.org",
        "ada@" + "a" * 64 + ".org",
        "ada@" + "a." * 130 + "org",
        "ada@straße.example",
        "ada\u00a0b@example.org",
        "\u202eada@example.org",
        "\udc80@example.org",
    ],
)
def test_what_is_not_exactly_one_address_is_refused(field, address):
    with pytest.raises(Refused):
        compose(
            replace(sample_message(), recipient=address) if field == "recipient" else sample_message(reply_to=address),
            SENDER,
        )


@pytest.mark.parametrize(
    "message",
    [
        {"bcc": "all@example.org"},
        {"text": 7},
        {"text": None},
        {"text": "a\0b"},
        {"html": "\ud800"},
        {"title": "x" * 501},
        {"date": "yesterday"},
        {"date": "2024-05-01T10:00:00"},
        {"reply_to": "żółć@example.org"},
    ],
)
def test_fields_that_a_mail_does_not_have_are_refused(message):
    with pytest.raises(Refused):
        compose(sample_message(**message), SENDER)


@pytest.mark.parametrize("missing", ["title", "text"])
def test_a_mail_without_title_or_text_is_refused(missing):
    fields = {name: value for name, value in sample_message().message.items() if name != missing}
    with pytest.raises(Refused, match=missing):
        compose(Message("s", "ada@example.org", 1, fields, "t"), SENDER)


@pytest.mark.parametrize("token", ["", "a>b", "a b", "a\r\nb", "é"])
def test_a_token_that_does_not_fit_into_a_message_id_is_refused(token):
    with pytest.raises(Refused):
        compose(Message("s", "ada@example.org", 1, sample_message().message, token), SENDER)


def test_a_mail_has_no_clock_in_it_but_the_date_it_was_given():
    assert read(compose(sample_message(), SENDER).content)["Date"] is None
    mail = read(compose(sample_message(date="2024-05-01T10:00:00+02:00"), SENDER).content)
    assert mail["Date"] == "Wed, 01 May 2024 10:00:00 +0200"


def test_a_mail_with_html_carries_both_and_the_name_of_its_sender():
    sender = Sender(SENDER.mailbox, 'Röbi "the" Robot', "ids.example")
    content = compose(sample_message(html="<p>Grüße</p>", reply_to="team@example.org"), sender).content
    mail = read(content)
    assert mail.get_body(("plain",)).get_content().strip() == "Three findings."
    assert mail.get_body(("html",)).get_content().strip() == "<p>Grüße</p>"
    assert mail["From"].addresses[0].display_name == 'Röbi "the" Robot'
    assert mail["Message-ID"].endswith("@ids.example>")
    assert mail["Reply-To"] == "team@example.org"
    assert content == compose(sample_message(html="<p>Grüße</p>", reply_to="team@example.org"), sender).content


def test_an_ordinary_address_needs_no_extension_whatever_the_text_is():
    mail = compose(sample_message(title="Grüße 👩‍🚀", text="Grüße\n"), SENDER)
    assert not mail.is_international
    assert mail.content.isascii()
    assert read(mail.content)["Subject"] == "Grüße 👩‍🚀"


@given(title=st.text(max_size=200), text=st.text(max_size=500), html=st.none() | st.text(max_size=200))
def test_whatever_the_words_are_a_mail_has_our_headers_and_whole_line_ends(title, text, html):
    try:
        mail = compose(sample_message(title=title, text=text, **({} if html is None else {"html": html})), SENDER)
    except Refused:
        return
    assert b"\n" not in mail.content.replace(b"\r\n", b"")
    assert b"\r" not in mail.content.replace(b"\r\n", b"")
    assert mail.content.endswith(b"\r\n")
    assert mail.content.isascii()
    allowed = {
        "Message-ID", "From", "To", "Subject", "Auto-Submitted", "Content-Type", "Content-Transfer-Encoding",
        "MIME-Version",
    }  # fmt: skip
    read_back = read(mail.content)
    assert set(read_back.keys()) <= allowed
    assert read_back["To"].addresses[0].addr_spec == "ada@example.org"
    subject = email.message_from_bytes(mail.content, policy=compat32)["Subject"]
    assert str(make_header(decode_header(subject))) == title
