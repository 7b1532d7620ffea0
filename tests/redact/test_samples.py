"""Whole texts as they come along: each is full of secrets, and none of them may be left."""

import base64
import json
import re

from leasehold.redact import Redactor
from tests.redact.checks import LETTERS, clean
from tests.support.rows import every_row

TOKEN = "gh" + "p_" + LETTERS[:36]
LEAKS = [f"leak{number}X{LETTERS[number : number + 8]}" for number in range(10)]

ENV = """# production
SMTP_URL=smtps://mailer:{0}@mail.example.org:465
SMTP_PASSWORD={1}
export PGPASSWORD='{2}'
AWS_SECRET_ACCESS_KEY={3}/abc+def
DJANGO_SECRET_KEY="{4} with spaces"
REDIS_URL=redis://:{5}@cache:6379/0
DEBUG=false
"""
COMPOSE = """services:
  db:
    image: postgres:17
    environment:
      POSTGRES_PASSWORD: {0}
      - POSTGRES_PASSWORD={1}
      POSTGRES_USER: app
    command: ["redis-server", "--requirepass", "{2}"]
  app:
    env:
      - name: API_TOKEN
        value: {3}
      - name: LOG_LEVEL
        value: debug
    secrets:
      password: |-
        {4}
"""
TRACEBACK = """Traceback (most recent call last):
  File "app.py", line 12, in connect
    conn = psycopg.connect("host=db user=app password={0} dbname=jobs")
  File "driver.py", line 7, in login
    raise LoginFailed(user='app', password='{1}', token=b'{2}')
sqlalchemy.exc.OperationalError: (OperationalError) connection failed: postgresql+psycopg://app:{3}@db:5432/jobs
DETAIL: payload was {{"credentials": {{"api_key": "{4}", "secret": "{5}"}}, "retries": 3}}
"""
SHELL = """$ mysql -h db -u root -p{0} jobs < dump.sql
$ curl -s -u admin:{1} -H "X-Api-Key: {2}" -H 'Authorization: Bearer {3}' https://example.org/v1
$ docker login -u ci -p {4} registry.example
$ PGPASSWORD={5} pg_dump jobs | gzip > jobs.gz
$ vault login --token {6}
$ sshpass -p '{7}' ssh deploy@host
$ openssl pkcs12 -passin pass:{8} -in x.p12
"""
HTTP = """POST /login?next=%2F&password={0}&user=bob HTTP/1.1
Host: example.org
Authorization: Basic {basic}
Cookie: theme=dark; sessionid={1}; lang=en
X-Auth-Token: {2}
Content-Type: application/x-www-form-urlencoded

username=bob&password={3}&remember=1
HTTP/1.1 200 OK
Set-Cookie: auth={4}; Path=/; HttpOnly; SameSite=Lax
{{"access_token":"{5}","refresh_token":"{6}","expires_in":3600,"token_type":"bearer"}}
"""
CONFIGURATION = """[smtp]
host = mail.example.org
password = {0}
; old password = {1}
[database]
connection = Server=db;Database=jobs;User Id=sa;Password={2};Encrypt=yes
<appSettings><add key="ApiSecret" value="{3}" /></appSettings>
<mail><user>bob</user><password>{4}</password></mail>
spring.datasource.password={5}
password: {6} # rotated in May
provider "x" {{ secret_key = "{7}" }}
CREATE ROLE app LOGIN PASSWORD '{8}';
machine mail.example.org login bob password {9}
"""
SOURCE = """-    client = Client(api_key="{0}", timeout=30)
+    client = Client(api_key=os.environ["API_KEY"], timeout=30)
+    SECRET_KEY: Final[str] = "{1}"
 const password = `{2}`;
+  "clientSecret" : "{3}",
+  private static final String PASSWORD = "{4}";
+  options.setPassword("{5}");
-  auth: {{ user: 'bob', pass: '{6}' }},
+  password := "{7}"
+  $config['db_passwd'] = '{8}';
"""
TEXTS = [ENV, COMPOSE, TRACEBACK, SHELL, HTTP, CONFIGURATION, SOURCE]


def filled(text: str) -> str:
    return text.format(*LEAKS, basic=base64.b64encode(f"bob:{LEAKS[7]}".encode()).decode())


@every_row("text", TEXTS)
def test_no_secret_of_a_realistic_text_is_left(text):
    found = clean(filled(text))
    assert [leak for leak in LEAKS if leak[:8] in found] == []
    assert base64.b64encode(b"bob:leak")[:10].decode() not in found


@every_row("text", TEXTS)
def test_the_same_text_as_a_string_of_json_is_clean_too_and_stays_json(text):
    once, twice = json.dumps({"log": filled(text)}), json.dumps({"body": json.dumps({"log": filled(text)})})
    for escaped in (once, twice):
        found = clean(escaped)
        assert [leak for leak in LEAKS if leak[:8] in found] == []
        json.loads(found)


@every_row("text", TEXTS)
def test_what_is_around_the_secrets_of_a_realistic_text_stays(text):
    found = re.sub(r"\[REDACTED:[a-z_]+#[0-9]+\]", "", clean(filled(text)))
    plain = re.sub("|".join(LEAKS), "", filled(text))
    kept = len(found.split()) / len(plain.split())
    assert kept > 0.8


def test_a_text_that_only_unfolds_turn_by_turn_loses_its_line():
    chained = "".join(f"v1.0-0123456789abcdef0123456{digit}-" + "0123456789abcdef" * 4 for digit in range(6))
    found = clean(f"before\n{chained}\nafter")
    assert found == "before\n[REDACTED:line#1]\nafter"


@every_row(
    ("text", "leak"),
    [
        (rf"log\n{LETTERS}\nlog", LETTERS[:8]),  # the n of an escape was taken for a part of the token
        ("+" + LETTERS, LETTERS[:8]),  # so was the margin of a diff
        ("awv/" + LETTERS, "awv"),  # the start of base64 was taken for a folder
        ("password = '$ecretPa55'", "ecretPa55"),  # a dollar was taken for a variable
        ("password: Summer(2024", "Summer"),  # a bracket was taken for a call
        ("password: foo.bar", "foo.bar"),  # a dot was taken for an attribute
        ("password = 'my secret is 42'", "secret is 42"),  # a phrase was taken for a prompt
        ("Authorization: Digest a=" + "b" * 3_000, "bbb"),  # only the first part of a long header was hidden
        ("postgres://u:p@ss@host/db", "ss@host"),  # the password ended at its first @
        ("password='abc\\'def'", "def"),  # it ended at an escaped quote
        ("x = 'ghp_" + LETTERS[:36] + "'\\nghp_" + LETTERS[:36], "ghp_"),
        ("\x1b[31mAKIA" + LETTERS.upper()[:16] + "\x1b[0m", "AKIA"),  # a colour hid the start of a key
        ("key%3Dsk_live_" + LETTERS[:24], "sk_live_"),
    ],
)
def test_what_once_leaked_stays_hidden(text, leak):
    assert leak not in clean(text)


def test_a_redactor_can_be_shared_and_remembers_nothing():
    redactor = Redactor()
    assert redactor.redact(f"a {TOKEN}") == redactor.redact(f"a {TOKEN}")
    assert redactor.redact("a b").text == "a b"
