"""What holds for every text: the result is stable, keeps its lines, and no registered value is left in it."""

import base64
from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leasehold.redact import Policy, Redactor
from leasehold.redact.text import CLASSES
from tests.redact.checks import LETTERS
from tests.support.properties import examples

SECRETS = ("hunter2-hunter2", "Zwölf Boxkämpfer", 'quo"te\\back', "line one\nline two")
EVERYTHING = Redactor(Policy(emails=True, hosts=[".corp.example", "vault"], addresses=True, secrets=SECRETS))
PIECES = (
    "password", "passwd", "secret", "token", "api_key", "PGPASSWORD", "authorization", "cookie", "bearer ", "basic ",
    "=", ": ", " = ", ":", "'", '"', '\\"', "`", "&", ";", ",", " ", "\n", "\r\n", "\r", "\t", "\\n", "\\", "@", "://",
    "/", "<", ">", "</", "{", "}", "(", ")", "[", "]", "#", "%3D", "$", "${X}", "|", "-", "--", "+", "eyJ", "ghp_",
    "sk-", "AKIA", "SG.", "xoxb-", "hvs.", "8Q~", ":AA", "123456789", "mysql -p", "curl -u a:", "value", "hunter2",
    "None", "user", "set", "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "-----BEGIN ",
    "PRIVATE KEY", "Private-Lines: 2", LETTERS, LETTERS[:24], LETTERS[:16], LETTERS * 2, "a@b.example",
    "db.corp.example", "vault", "10.0.0.1", "fd00::1", *SECRETS,
    *(base64.b64encode(secret.encode()).decode() for secret in SECRETS), *(quote(secret) for secret in SECRETS),
    *(f"[REDACTED:{name}#{number}]" for name in CLASSES[::6] for number in (1, 12)), "[REDACTED:", "#1]", "\x00",
    "\ud800", "\ue000", "ü", "', '", '["', "auth=('", "pw", "set(a, '", "Key (password)=(", "PRIVATE%20KEY", "&#10;",
    "\u2028", "İ", "passwords", "secrets:", "tokens:", "\n  - ", "\n- ", "kind: Secret", "data:", '("password", ',
    "login a ", "insert into t (password) values (", ":5432:a:b:", "$6$", "%22", "%3A%2F%2F", "\\u0022", "->", " is ",
    "identified by ", "default = ", "{", "--password ", LETTERS[: 12] + "\n", (LETTERS[: 12] + "\n") * 4, "+",
    "input_value=", "echo ", "| chpasswd",
)  # fmt: skip
pieced = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)
texts = st.one_of(pieced, st.text(max_size=80), st.tuples(pieced, st.text(max_size=20), pieced).map("".join))
thorough = settings(max_examples=examples(600), database=None, suppress_health_check=[HealthCheck.too_slow])


@thorough
@given(texts)
def test_redacting_twice_changes_nothing_more(text):
    once = EVERYTHING.redact(text).text
    assert EVERYTHING.redact(once).text == once
    assert EVERYTHING.redact(once).counts == {}


@thorough
@given(texts)
def test_lines_and_their_ends_are_kept(text):
    clean = EVERYTHING.redact(text).text
    assert clean.count("\n") == text.count("\n")
    assert clean.count("\r\n") == text.count("\r\n")


@thorough
@given(texts)
def test_the_same_text_gives_the_same_result_in_another_redactor(text):
    other = Redactor(Policy(emails=True, hosts=[".corp.example", "vault"], addresses=True, secrets=SECRETS))
    assert other.redact(text) == EVERYTHING.redact(text)


@thorough
@given(texts, st.sampled_from(SECRETS), texts)
def test_no_registered_value_is_left_in_any_form(before, secret, after):
    octets = secret.encode()
    for form in (secret, quote(secret, safe=""), octets.hex(), octets.hex().upper(), base64.b64encode(octets).decode()):
        clean = EVERYTHING.redact(before + form + after).text
        assert form.rstrip("=") not in clean


@thorough
@given(texts)
def test_what_is_not_hidden_is_not_changed(text):
    found = EVERYTHING.redact(text)
    assert found.counts or found.text == text
