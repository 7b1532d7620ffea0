"""Credentials in headers and cookies."""

import base64

from tests.redact.checks import DIGITS, LETTERS, check_hidden, check_left_alone, clean
from tests.support.rows import every_row

BASIC = base64.b64encode(b"mailer:hunter2").decode()


@every_row(
    ("template", "secret"),
    [
        ("Authorization: Bearer {}", LETTERS),
        ("authorization: bearer {}", "opaque-value-1"),
        ("Authorization: Basic {}", BASIC),
        ("Authorization: token {}", LETTERS),
        ("Authorization: Bot {}", LETTERS),
        ("Proxy-Authorization: Basic {}", BASIC),
        ("Authorization: {}", LETTERS),
        ('{"Authorization": "Bearer {}"}', LETTERS),
        ("headers['Authorization'] = 'Bearer {}'", LETTERS),
        ("curl -H 'Authorization: Bearer {}' https://example.org", LETTERS),
        (r"{\"Authorization\": \"Bearer {}\"}", LETTERS),
        ("sent Bearer {} and got 401", DIGITS),
        ("sent Basic {} and got 401", BASIC),
        (r"send: 'AUTH PLAIN {}\r\n'", BASIC),
        ("Authorization: Digest {}", 'username="a", realm="b", response="6629fae49393a05397450978507c4ef1"'),
        ("Authorization: AWS4-HMAC-SHA256 {}", f"Credential=x/2024/eu/s3, Signature={DIGITS}{DIGITS}"),
    ],
)
def test_the_credential_of_an_authorization_header_is_hidden(template, secret):
    check_hidden(template, secret, "authorization")


@every_row(
    ("template", "secret"),
    [
        ("Cookie: theme=dark; sessionid={}; lang=en", "abc123xyz"),
        ("Set-Cookie: sid={}; Path=/; HttpOnly", "s%3Aabcdef"),
        ("Set-Cookie: PHPSESSID={}; Expires=Wed, 21 Oct 2026 07:28:00 GMT", DIGITS),
        ("Cookie: csrftoken={}", "abcdef"),
        ("'cookie': 'x={}'", "a1" * 12),
    ],
)
def test_session_values_in_cookies_are_hidden_and_names_stay(template, secret):
    check_hidden(template, secret, "cookie")


@every_row(
    ("template", "secret", "name"),
    [
        ("X-Api-Key: {}", "abc123", "api_key"),
        ("x-api-key={}", "abc123", "api_key"),
        ("X-Auth-Token: {}", "abc123def456", "token"),
        ("Private-Token: {}", "abc123def456", "token"),
        ("X-Amz-Security-Token: {}", "IQoJb3JpZ2luX2VjEHoaCXVz", "token"),
    ],
)
def test_headers_that_carry_a_key_lose_it(template, secret, name):
    check_hidden(template, secret, name)


@every_row(
    "text",
    [
        "Authorization: Bearer ${TOKEN}",
        "Authorization: Bearer <token>",
        "Authorization: Basic authentication",
        "authorization = get_authorization(request)",
        "authorization: Authorization",
        "Authorization: Bearer",
        "the bearer of this letter",
        "bearer authentication is described elsewhere",
        "basic authentication is described elsewhere",
        "basic understanding",
        "AUTH PLAIN LOGIN CRAM-MD5",
        "250-AUTH LOGIN PLAIN",
        "auth plain is what the server offers",
        "Cookie: theme=dark; lang=en",
        "Set-Cookie: theme=dark; Path=/; Max-Age=31536000",
        "cookie = SimpleCookie()",
        "cookies: enabled",
        "headers = {'Authorization': f'Bearer {token}'}",
    ],
)
def test_headers_without_a_credential_are_left_alone(text):
    check_left_alone(text)


def test_a_header_cut_off_in_the_token_still_loses_what_is_there():
    assert "abcd" not in clean("Authorization: Bearer abcd1234")
