"""Texts made to be slow, to be large or to break: the work grows as the text does, and nothing is raised."""

import time

import pytest

from leasehold.redact import Policy, Redactor
from tests.redact.checks import DIGITS, LETTERS
from tests.support.rows import every_row

EVERYTHING = Redactor(
    Policy(emails=True, hosts=[".corp.example", "vault"], addresses=True, secrets=["hunter2-hunter2", "aaaaaaaa"])
)
SHORT, SHORT_IN_SOAK = 3_000, 6_000
TIMES = 4
# Linear work takes 4 times as long for 4 times the text, quadratic work 16 times.
RATIO_SURE = 4.5
RATIO_MAX = 9.0
ROUNDS = 5
# A busy machine makes single rounds slow, never all of these: only the least of each length counts.
ROUNDS_MAX = 60
PRIVATE, END = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
BRICKS = [
    "eyJ", "eyJ.", "eyJabcdefgh.", "0meyJ", "%41eyJ", r"\neyJ", "sk-", "ghp_", "AKIA", "SG.", ":AA", "12345678",
    "8Q~", "-----BEGIN ", PRIVATE, PRIVATE + "\n", PRIVATE + "\n\n\n\n", PRIVATE + "\nA: b\n", PRIVATE + " a", END,
    END + "\n", "a" * 20 + END, "a" * 20 + "\n" + END, "Private-Lines: 2", "Private-Lines: 2\n", "PRIVATE KEY",
    LETTERS + "\n", "a@a@a@", "a@", "x" * 50 + "@", "@" + "x." * 20, "://:@", "://a:", "://a:b", "://a:b/@",
    "a.corp.example", "10.0.0.1", "password", "password=", "password='", 'password="', "password='<", 'password=">',
    "password: ", "password: |\n", "password: the ", "password = a b ", "password=$", "password=%", "password={{",
    "password=a(", 'password:"""', 'password" value', "password\nvalue: ", '("password","', 'set_password("',
    "--password ", "<password>", "<password>a<", "&quot;password&quot;:", "secret=a/b/", "secret=/a", "token=",
    'token="é ', "token=é", "apikey: <", "key", "pass", "authorization:", "authorization: digest a=",
    "authorization:a[", "cookie:a=", "cookie:a=b;", "cookie:a=b;password==", "bearer ", "basic a", "mysql ",
    "mysql -p", "curl -u a", "[REDACTED:", "[REDACTED:password#1]", "[REDACTED:password#1", "hunter2-", "aaaaaaa ",
    "\n", "\r\n", "\r", " ", "=", "-", "/", "a/", "A1/", "a", "aB3", "\x00", "\ud800", "\ue000", "İ",
    "://a:bcookie:a=b;password=a(authorization:", "password=secret: the password=$#1]", "mysql', '", "mysql', '-pa ",
    "curl','-u','a:", 'mysql", \'-pa', "password=a&", "password=a;", "password=a;1&", '"passwords":["',
    '"passwords":["a",', 'password:["","', "auth=('", "auth=(a,'", "basicauth('a','", "key (password)=(", "key (a",
    "set(a,'password','", "set(", "://" + LETTERS, "://a1", "pw=", '"password":\n', "-----BEGIN%20PRIVATE%20KEY-----",
    "BEGIN+PRIVATE+KEY", PRIVATE + "&#10;", PRIVATE + "\n" + LETTERS[: 12] + "\n", "passwords=[", "passwords=[\n",
    "passwords=['a',", "passwords=[#", "passwords=[#\n", "passwords={a:", "passwords={a='b'", "passwords=['a'\n",
    "passwords: [a,", "('password','a')", "('password',", "passwords:\n", "passwords:\n- ", "passwords:\n- a\n",
    "passwords:\n ", "passwords:\n\n", "passwords:#\n", "passwords:\n a: |\n", "password:\n", "tokens:\n",
    "secrets:\n a:\n", r"passwords:\n- ", r"\npasswords:\n", "+passwords:\n+- a\n", "kind: secret\n",
    "kind: secret\ndata:\n", "kind: secret\ndata:\n a: b\n", '"kind":"secret","data":{',
    '"kind":"secret","data":{"a":"b",', "data:", LETTERS[: 12] + "\n", LETTERS[: 16] + "\r\n",
    "+" + LETTERS[: 24] + "\n", LETTERS + "\\n", LETTERS + '"\n"', "aaaaaaaaaaaaaaaa\n", "YWFhYWFhYWFh\n",
    "YWFh\n" + LETTERS, "a" * 16, '\\",\\"', 'mysql\\",\\"', 'curl\\",\\"-u\\",\\"a:', " -p", " -pa mysql", "echo a|",
    "echo a | ", "identified with a ", "identified by a", "--from-literal=a=", "net use a ", "vault kv put ",
    "htpasswd -b a ", "openssl -k ", "http -a a:", "zip -p ", "sqlplus a/", ":thin:a/", "login a ",
    "login a password ", "login a account ", "a:5432:", ":*:", "*:*:*:a:", "user a\npass ", "user a\n", "'pass ",
    "a1 login a ", "auth a\n", "334 ugfzc3dvcmq6\n", "]:25 a:", "[a]:25 a:", "$", "$1$", "$6$a", "$2b$12$",
    "$argon2id$v=19$", " key ", "api key ", "api key a1", "chpasswd", "echo a:b|chpasswd", "value: a\nname: ",
    'value:"', 'value:"a","name":"', "value=", " into ", "insert into a(password)values",
    "insert into a(password)values('", "insert into a(password)values('a'),('a'),", "insert into a(", "('a'),",
    "crypt(", "crypt('a'", "pgp_sym_encrypt(", "pragma key='", "input_value='", "password\ninput_value='", "login(",
    "login(a,'", "jwt.encode(", "jwt.encode(a,'", "hmac(b'", "ftp(a,b,'", "%3a%2f%2f", "%3A%2F%2Fa%3A", "%2f%2f",
    "%252f%252f", ":\\/\\/", ":\\/\\/a:", "//a:b@", "a:b1@", "a:b1@c:25 ", "%22password%22%3a%22", "%22password",
    r"\u0022password\u0022:\u0022", r"\x22password\x22:\x22", "%2522password%2522%253a%2522", '"password",',
    '"password" {', 'variable "password" {default=', "<key>password</key><string>", '<a name="password">',
    '<a name="password"', "<![cdata[", "<password><![cdata[", "password is ", "password for a: ", "password -> ",
    "password 0 ", "password;", "password=secretstr('", "password=str(", "{password=a,", "(password=a)", "{a",
    "requirepass ", "bindpw a", "--cookie ", "--cookie sid=", "password='a' -> '", '"password": "a" -> "',
    "hunter2-\n", "68756e", "68:75:", "%68%75", "office.com/webhook/", "hooks.zapier.com/hooks/catch/1234/", "psk=",
    "password a = '", "password a(",
    "password as a = '", "password <- '", '<password a="b"', 'password a="b" value="',
    'name="password"\n\n', 'name="password"\na: b\n', "password%5b%5d=", "password=a,a=", "password=''a",
    "password='a''", "a''",
    "dict(", "passwords=dict(a='", "| password | a1", "gh secret set -b", "secrets set a=", "setx password ",
    "basicauth=a:", "-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\nYWFh",
    '"a" == password', "a as password ",
    "user,password\n", "user,password\na,b1\n", "|password|a|\n", "|a|password|b1|\n", "password is ",
    "token for a b ",
    "password=a1b2c3d4 ", "a1b2c3d4e5 ", "curl \\\n -u ", "pin 1", "seed word ", "ENC[AES256_GCM,data:", "a:b@tcp(",
    "u@m:p@h",
    "1 -----BEGIN PRIVATE KEY-----\n2 " + LETTERS + "\n", "password ||", "env || ",
    "${password:-a", "heroku a1b2c3d4e5f6a7b8 ",
    "\u043f\u0430\u0440\u043e\u043b\u044c: ", "auth token " + DIGITS + " ", "<td>password</td>",
    "password\\u003d", "-Password a ",
]  # fmt: skip


def seconds(text: str) -> float:
    started = time.process_time()
    EVERYTHING.redact(text)
    return time.process_time() - started


def growth(brick: str, length: int) -> float:
    """Return how much more work the longer text takes: the least of some rounds, for noise only ever adds."""
    least_short = least_long = float("inf")
    for number in range(1, ROUNDS_MAX + 1):
        least_short = min(least_short, seconds(brick * (length // len(brick))))
        least_long = min(least_long, seconds(brick * (TIMES * length // len(brick))))
        ratio = least_long / least_short
        if ratio < RATIO_SURE or (number >= ROUNDS and ratio < RATIO_MAX):
            break
    return ratio


@pytest.mark.early
@every_row("brick", BRICKS)
def test_four_times_the_text_takes_about_four_times_the_work(brick):
    assert growth(brick, SHORT) < RATIO_MAX


@pytest.mark.soak
@every_row("brick", BRICKS)
def test_four_times_a_longer_text_takes_about_four_times_the_work(brick):
    assert growth(brick, SHORT_IN_SOAK) < RATIO_MAX


def check_prefixes(brick: str, count: int) -> None:
    found = Redactor().redact(brick * count + " password=hunter2")
    assert found.text.endswith(" password=[REDACTED:password#1]")


PREFIXES = ["eyJ", "-----BEGIN ", "ghp_", "a@a@a@", "password"]


@pytest.mark.early
@every_row("brick", PREFIXES)
def test_many_prefixes_in_one_line_are_read_to_the_end(brick):
    check_prefixes(brick, 200_000)


@pytest.mark.soak
@every_row("brick", PREFIXES)
def test_a_million_prefixes_in_one_line_are_read_to_the_end(brick):
    check_prefixes(brick, 1_000_000)


def test_one_line_of_ten_megabytes_is_read_to_the_end():
    filler = "a line without an end, 0123456789 and words; "
    found = Redactor().redact(filler * (10_000_000 // len(filler)) + "password=hunter2")
    assert found.counts == {"password": 1}


def test_a_secret_of_a_megabyte_is_hidden_whole():
    secret = "Ab3" * 350_000
    assert Redactor().redact(f"password='{secret}' x").text == "password='[REDACTED:password#1]' x"
    assert Redactor().redact(f"ghp_{secret} x").text == "[REDACTED:github_token#1] x"


@every_row("text", ["", "\x00", "\ud800", "\x00password=hunter2\x00", "\udfff\ud800" * 50, "\n" * 9, "\r\n\r"])
def test_odd_characters_break_nothing_and_stay(text):
    found = EVERYTHING.redact(text).text
    assert found.replace("[REDACTED:password#1]", "hunter2").rstrip("\x00") == text.rstrip("\x00")
