"""Texts made to be slow, to be large or to break: the work grows as the text does, and nothing is raised."""

import time

import pytest

from leasehold.redact import Policy, Redactor
from tests.redact.vouching import LETTERS

EVERYTHING = Redactor(
    Policy(emails=True, hosts=[".corp.example", "vault"], addresses=True, secrets=["hunter2-hunter2", "aaaaaaaa"])
)
SHORT, LONG = 6_000, 24_000
# Linear work takes 4 times as long for 4 times the text, quadratic work 16 times.
RATIO_MAX = 9.0
ROUNDS_MAX = 5
PRIVATE, END = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
BRICKS = [
    "eyJ", "eyJ.", "eyJabcdefgh.", "0meyJ", "%41eyJ", r"\neyJ", "sk-", "ghp_", "AKIA", "SG.", ":AA", "12345678", "8Q~",
    "-----BEGIN ", PRIVATE, PRIVATE + "\n", PRIVATE + "\n\n\n\n", PRIVATE + "\nA: b\n", PRIVATE + " a", END, END + "\n",
    "a" * 20 + END, "a" * 20 + "\n" + END, "Private-Lines: 2", "Private-Lines: 2\n", "PRIVATE KEY", LETTERS + "\n",
    "a@a@a@", "a@", "x" * 50 + "@", "@" + "x." * 20, "://:@", "://a:", "://a:b", "://a:b/@", "a.corp.example",
    "10.0.0.1", "password", "password=", "password='", 'password="', "password='<", 'password=">', "password: ",
    "password: |\n", "password: the ", "password = a b ", "password=$", "password=%", "password={{", "password=a(",
    'password:"""', 'password" value', "password\nvalue: ", '("password","', 'set_password("', "--password ",
    "<password>", "<password>a<", "&quot;password&quot;:", "secret=a/b/", "secret=/a", "token=", 'token="é ', "token=é",
    "apikey: <", "key", "pass", "authorization:", "authorization: digest a=", "authorization:a[", "cookie:a=",
    "cookie:a=b;", "cookie:a=b;password==", "bearer ", "basic a", "mysql ", "mysql -p", "curl -u a", "[REDACTED:",
    "[REDACTED:password#1]", "[REDACTED:password#1", "hunter2-", "aaaaaaa ", "\n", "\r\n", "\r", " ", "=", "-", "/",
    "a/", "A1/", "a", "aB3", "\x00", "\ud800", "\ue000", "İ", "://a:bcookie:a=b;password=a(authorization:",
    "password=secret: the password=$#1]", "mysql', '", "mysql', '-pa ", "curl','-u','a:", 'mysql", \'-pa',
    "password=a&", "password=a;",
    "password=a;1&", '"passwords":["', '"passwords":["a",', 'password:["","', "auth=('", "auth=(a,'", "basicauth('a','",
    "key (password)=(", "key (a", "set(a,'password','", "set(", "://" + LETTERS, "://a1", "pw=", '"password":\n',
    "-----BEGIN%20PRIVATE%20KEY-----", "BEGIN+PRIVATE+KEY", PRIVATE + "&#10;", PRIVATE + "\n" + LETTERS[:12] + "\n",
]  # fmt: skip


def seconds(text: str) -> float:
    started = time.process_time()
    EVERYTHING.redact(text)
    return time.process_time() - started


def growth(brick: str) -> float:
    """Return how much longer the longer text takes: the least of some rounds, for noise only ever adds."""
    least_short = least_long = float("inf")
    for _ in range(ROUNDS_MAX):
        least_short = min(least_short, seconds(brick * (SHORT // len(brick))))
        least_long = min(least_long, seconds(brick * (LONG // len(brick))))
        if least_long < RATIO_MAX / 2 * least_short:
            break
    return least_long / least_short


@pytest.mark.parametrize("brick", BRICKS)
def test_four_times_the_text_takes_about_four_times_the_work(brick):
    assert growth(brick) < RATIO_MAX


@pytest.mark.parametrize("brick", ["eyJ", "-----BEGIN ", "ghp_", "a@a@a@", "password"])
def test_a_million_prefixes_in_one_line_are_read_to_the_end(brick):
    found = Redactor().redact(brick * 1_000_000 + " password=hunter2")
    assert found.text.endswith(" password=[REDACTED:password#1]")


def test_one_line_of_ten_megabytes_is_read_to_the_end():
    filler = "a line without an end, 0123456789 and words; "
    found = Redactor().redact(filler * (10_000_000 // len(filler)) + "password=hunter2")
    assert found.counts == {"password": 1}


def test_a_secret_of_a_megabyte_is_hidden_whole():
    secret = "Ab3" * 350_000
    assert Redactor().redact(f"password='{secret}' x").text == "password='[REDACTED:password#1]' x"
    assert Redactor().redact(f"ghp_{secret} x").text == "[REDACTED:github_token#1] x"


@pytest.mark.parametrize(
    "text", ["", "\x00", "\ud800", "\x00password=hunter2\x00", "\udfff\ud800" * 50, "\n" * 9, "\r\n\r"]
)
def test_odd_characters_break_nothing_and_stay(text):
    found = EVERYTHING.redact(text).text
    assert found.replace("[REDACTED:password#1]", "hunter2").rstrip("\x00") == text.rstrip("\x00")
