"""Passwords and secrets assigned to a name that reveals them, in every format that assigns."""

import json

from tests.redact.checks import LETTERS, check_hidden, clean, clean_and_counted
from tests.support.rows import every_row

PASSWORDS = [
    'password = "{}"',
    "password = '{}'",
    "passwd='{}'",
    'self.password = "{}"',
    'password: str = "{}"',
    "password: Optional[str] = '{}'",
    'PASSWORD = b"{}"',
    'connect(user="u", password="{}")',
    "connect(user='u', password='{}', port=1)",
    'const password = "{}";',
    "let dbPassword = `{}`;",
    "{ password: '{}' }",
    'password := "{}"',
    "$password = '{}';",
    '"password" => "{}",',
    ":password => '{}'",
    'settings["password"] = "{}"',
    "os.environ['DB_PASSWORD'] = '{}'",
    'os.putenv("DB_PASSWORD", "{}")',
    'builder.setPassword("{}")',
    'if password == "{}":',
    "password: {}",
    "  password: {}",
    "- password: {}",
    "password: '{}'",
    'password: "{}"  # the old one',
    "password: {}  # the old one",
    "password: |\n  {}",
    "password: >-\n    {}\nuser: x",
    "- name: DB_PASSWORD\n  value: {}",
    '- name: DB_PASSWORD\n  value: "{}"',
    'password = "{}" # toml',
    "password={}",
    "password = {}",
    "db.password={}",
    "spring.datasource.password = {}",
    "; password = {}",
    "PASSWORD={}",
    "DB_PASS={}",
    "SMTP_PASS='{}'",
    "export PGPASSWORD={}",
    'export DB_PASSWORD="{}"',
    "PGPASSWORD={} psql -h db",
    "ENV MYSQL_ROOT_PASSWORD={}",
    "set PASSWORD={}",
    '{"password": "{}"}',
    '{"user":"a","password":"{}","port":1}',
    '{"smtpPassword" : "{}"}',
    r"{\"password\": \"{}\"}",
    r"{\\\"password\\\": \\\"{}\\\"}",
    '{"name": "DB_PASSWORD", "value": "{}"}',
    "<password>{}</password>",
    "<smtp:password>{}</smtp:password>",
    '<user name="a" password="{}"/>',
    '<add key="Password" value="{}"/>',
    "&quot;password&quot;: &quot;{}&quot;",
    "run --password {} --user x",
    "run --password={}",
    "run --db-password '{}'",
    '["run", "--password", "{}"]',
    "mysql -u root -p{} db",
    "mysqldump --single-transaction -p'{}' db > x",
    "sshpass -p {} ssh host",
    "redis-cli -h cache -a {} ping",
    "curl -u mailer:{} https://example.org",
    "curl --user mailer:{} https://example.org",
    "openssl rsa -passin pass:{} -in x",
    "Server=db;User Id=sa;Password={};Encrypt=yes",
    "Data Source=x;Pwd={}",
    "host=db user=a password={} dbname=x",
    "https://example.org/login?user=a&password={}&next=/",
    "login failed: password={} user=bob",
    "login failed, password: {} (bob)",
    "+password = '{}'",
    "-  password: {}",
    "> password: {}",
    "passphrase: {}",
    "CREATE ROLE app WITH LOGIN PASSWORD '{}';",
    "ALTER USER app IDENTIFIED BY '{}'",
    "machine db login app password {}",
    "next%3D%2Flogin%3Fpassword%3D{}%26user%3Da",
    "password '{}' is too short",
    "requirepass: {}",
    "root_passwd: {}",
]


@every_row("template", PASSWORDS)
@every_row("secret", ["hunter2", "S3cr3t!pw"])
def test_an_assigned_password_is_hidden_and_its_surroundings_stay(template, secret):
    check_hidden(template, secret, "password")


@every_row(
    ("template", "secret"),
    [
        ('password = "{}"', "correct horse battery staple"),
        ('password = "{}"', r"with \" a quote"),
        ('{"password": "{}"}', r"back\\slash"),
        ("password: {}", "correct horse battery staple"),
        ("password: {}", "p@$$:w/o[r]d{}!"),
        ("PASSWORD={}", "abc;def,ghi)"),
        ("PASSWORD={}", "mypassword"),
        ("PASSWORD={}", "$tr0ng#1"),
        ("password = {}", "letmein"),
        ("password: {}", "mysecret"),
        ("password: {}", "foo.bar"),
        ("password: {}", "Summer(2024"),
        ("password = {}", "topsecret"),
        ('password = "{}"', "$ecretPa55"),
        ('password = "{}"', "my secret is 42"),
        ('password = "{}"', "foo/bar.txt"),
        ("password={}", "letmein"),
        ("password: {}", "12345678"),
        ('password = "{}"', "пароль-уникод"),
        ('password = "{}"', "a" * 5_000),
        ("password={}", "b7" * 5_000),
    ],
)
def test_a_password_of_any_characters_is_hidden_whole(template, secret):
    check_hidden(template, secret, "password")


@every_row(
    ("template", "secret", "name"),
    [
        ('client_secret = "{}"', "abc-def", "secret"),
        ("aws_secret_access_key = {}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "secret"),
        ('"SecretAccessKey": "{}"', "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "secret"),
        ("SECRET_KEY = '{}'", "django-insecure-x", "secret"),
        ("api_key: {}", "abc123", "api_key"),
        ('apiKey: "{}"', "abc-def", "api_key"),
        ("API-KEY={}", "abc123", "api_key"),
        ('"access_key": "{}"', "abcdef", "api_key"),
        ("encryption_key = '{}'", "abcdef", "api_key"),
        ("?api_key={}&x=1", "abc123", "api_key"),
        ('token = "{}"', "abc123def", "token"),
        ("access_token={}&x=1", "abc123def", "token"),
        ('"refresh_token": "{}"', "1a-2b-3c-4d", "token"),
        ("//registry.example/:_authToken={}", "abc123def456", "token"),
        ('"auth": "{}"', "dXNlcjpodW50ZXIy", "token"),
        ("JSESSIONID={}", "0123456789ABCDEF", "token"),
        ("X-Amz-Signature={}", "0123456789abcdef0123456789abcdef", "token"),
        ("run --token {}", "abc123def456", "token"),
    ],
)
def test_secrets_keys_and_tokens_are_hidden_under_their_own_class(template, secret, name):
    check_hidden(template, secret, name)


@every_row("template", ['password = "{}', "{'password': '{}", r"{\"password\": \"{}"])
def test_a_value_that_was_cut_off_before_its_closing_quote_is_hidden(template):
    check_hidden(template, "hunter2", "password")


def test_json_stays_json_after_redaction():
    config = {"user": "a", "password": 'quo"te\\', "nested": {"api_key": "k-1", "list": [1, None]}, "token": LETTERS}
    for indent in (None, 2):
        found = json.loads(clean(json.dumps(config, indent=indent)))
        assert found["nested"] == {"api_key": "[REDACTED:api_key#1]", "list": [1, None]}
        assert (found["user"], found["password"]) == ("a", "[REDACTED:password#1]")


def test_equal_values_share_a_number_and_places_are_counted():
    found = clean_and_counted("password=one1\npassword=two2\npassword=one1\n")
    assert (
        found.text == "password=[REDACTED:password#1]\npassword=[REDACTED:password#2]\npassword=[REDACTED:password#1]\n"
    )
    assert found.counts == {"password": 3}


def test_line_ends_of_windows_stay_after_a_bare_value():
    assert clean("password: hunter2\r\nuser: x\r\n") == "password: [REDACTED:password#1]\r\nuser: x\r\n"
