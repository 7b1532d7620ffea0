"""Secrets that once survived: each in the notation in which it was found, and what looks like it and is none."""

import html
from urllib.parse import quote, quote_plus

from tests.redact.checks import DIGITS, LETTERS, check_hidden, check_left_alone, clean
from tests.support.rows import every_row

HIDDEN = "SECRET123x"
BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
BODY = LETTERS + LETTERS[:24]


@every_row(
    "template",
    [
        "Command '['curl', '-u', 'bob:{}', 'https://x']' returned non-zero exit status 22.",
        "Command '['mysql', '-p{}']' returned non-zero exit status 1.",
        "['sshpass', '-p', '{}', 'ssh']",
        "['psql', '--password', '{}']",
        "['docker', 'login', '-p', '{}']",
        '["redis-cli","-a","{}","ping"]',
        "['mysql', \"-p{}\", 'db']",
    ],
)
@every_row("secret", [HIDDEN, "S3cret with spaces"])
def test_a_password_in_a_printed_list_of_arguments_is_hidden_whole(template, secret):
    check_hidden(template, secret, "password")


@every_row(
    "template",
    [
        '{"name":"DB_PASSWORD","value":"{}"}',
        r"{\"name\":\"DB_PASSWORD\",\"value\":\"{}\"}",
        "auth=('bob', '{}')",
        "auth=(user, '{}')",
        "HTTPBasicAuth('bob', '{}')",
        "credentials=('u','{}')",
        '"passwords": ["{}"]',
        '"passwords": [\n    "{}"\n  ]',
        '{"password": {"value": "{}"}}',
        "setattr(self, 'password', '{}')",
        "config.set('db', 'password', '{}')",
        "pw={}",
        "db_pw: {}",
        '"password":\n  "{}"',
        "DETAIL:  Key (password)=({}) already exists.",
    ],
)
def test_a_password_in_a_structure_is_hidden(template):
    check_hidden(template, HIDDEN, "password")


def test_every_password_of_a_list_is_hidden():
    found = clean('"passwords": ["one-1", "two-2", "three-3"]')
    assert found == '"passwords": ["[REDACTED:password#1]", "[REDACTED:password#2]", "[REDACTED:password#3]"]'


@every_row(
    ("template", "name"),
    [("hmac_key={}", "api_key"), ('"client_secret":\n  "{}"', "secret"), ('"client_secret":\r\n\t"{}"', "secret")],
)
def test_a_key_or_a_secret_is_hidden(template, name):
    check_hidden(template, HIDDEN, name)


def test_the_row_of_a_table_is_hidden_whole():
    check_hidden("Key (email, password)=({}) already exists.", "a@b.example, SECRET123x", "password")


@every_row("secret", ["Tr0ub4dor&3x", "Tr0ub4dor;3x", "a1&b", "a1&b&c2"])
@every_row(
    "template",
    [
        "login password={} failed",
        "x?a=b&password={}&next=/",
        "x; Password={};User Id=sa",
        "?a=b&amp;password={}&amp;c=d",
    ],
)
def test_an_ampersand_or_a_semicolon_may_be_part_of_a_password(template, secret):
    check_hidden(template, secret, "password")


@every_row("token", [DIGITS, DIGITS + DIGITS[:8], LETTERS[:20]])
@every_row("template", ["https://{}@github.com/x", "git clone https://{}@sentry.io/1"])
def test_a_token_in_place_of_the_user_of_a_uri_is_hidden(template, token):
    check_hidden(template, token, "uri_password")


def test_a_token_before_a_word_for_a_password_is_hidden():
    assert DIGITS not in clean(f"https://{DIGITS}:x-oauth-basic@github.com/x")


@every_row("encode", [quote, quote_plus, lambda text: html.escape(text).replace("\n", "&#10;")])
@every_row("ending", ["", END])
def test_an_encoded_private_key_is_hidden(encode, ending):
    found = clean("key " + encode(f"{BEGIN}\n{BODY}\n{BODY}\n{ending}"))
    assert found.startswith("key [REDACTED:private_key#1]")
    assert not any(part in found for part in (LETTERS[:8], LETTERS[-8:]))


@every_row("width", [12, 10])
def test_a_private_key_in_narrow_lines_is_hidden(width):
    lines = [BODY[start : start + width] for start in range(0, len(BODY), width)]
    assert clean("\n".join([BEGIN, *lines, END])) == "[REDACTED:private_key#1]" + "\n" * (len(lines) + 1)


@every_row(
    "text",
    [
        "secretary: Jane Doe1",
        "secretariat = Room12",
        "['mysql', '-p', 'db']",
        "['curl', '-u', 'bob', 'https://example.org:443/']",
        "auth=('username', 'password')",
        "auth=(user, password)",
        '"secrets": ["database", "mail"]',
        '"password": {"type": "string"}',
        '"passwords": []',
        "setattr(self, 'password', None)",
        "Key (email)=(a-1) already exists.",
        "https://a-rather-long-user-name@example.org/",
        "password:\n  'user1234'",
        f"{BEGIN}\nyour key here\n{END}",
    ],
)
def test_what_only_looks_like_it_is_left_alone(text):
    check_left_alone(text)
