"""Passwords inside URIs of any scheme."""

from tests.redact.checks import check_hidden, check_left_alone, clean
from tests.support.rows import every_row


@every_row(
    "template",
    [
        "postgres://user:{}@host/db",
        "postgresql+psycopg://user:{}@host:5432/db?sslmode=require",
        "smtp://mailer:{}@mail.example.org:587",
        "smtps://mailer%40example.org:{}@mail.example.org",
        "amqp://guest:{}@rabbit:5672/%2f",
        "redis://:{}@cache:6379/0",
        "rediss://default:{}@cache",
        "mongodb://u:{}@h1:27017,h2:27017/db?replicaSet=r",
        "mongodb+srv://u:{}@cluster.example.org",
        "https://user:{}@example.org/path?x=1",
        "ftp://anonymous:{}@ftp.example.org",
        "git clone https://oauth2:{}@git.example.org/a.git",
        'dsn="mysql://root:{}@127.0.0.1/x"',
        "jdbc:postgresql://u:{}@host/db",
        "see (http://u:{}@h/).",
    ],
)
@every_row("secret", ["hunter2", "p%40ss%2Fw0rd", "a.b-c_d~e", "x"])
def test_only_the_password_of_a_uri_is_hidden(template, secret):
    check_hidden(template, secret, "uri_password")


def test_a_password_with_an_unescaped_at_sign_is_hidden_whole():
    check_hidden("postgres://u:{}@host/db", "p@ss@word", "uri_password")


def test_a_password_with_an_unescaped_slash_is_hidden_whole():
    check_hidden("postgres://u:{}@host/db", "pa/ss#w?rd", "uri_password")


@every_row(
    "text",
    [
        "https://example.org:8080/path?mail=a@example.org",
        "http://localhost:8000/@user",
        "https://example.org/a:b@c",
        "ssh://git@example.org:22/repo",
        "redis://:@cache",
        "postgres://user:${PASSWORD}@host/db",
        "postgres://user:<password>@host/db",
        "postgres://user:****@host/db",
        "postgres://{user}:{password}@{host}/{name}",
        "postgres://%s:%s@%s/%s",
        "std::cout://x",
        "a://b",
    ],
)
def test_a_uri_without_a_password_is_left_alone(text):
    check_left_alone(text)


def test_a_uri_cut_off_before_its_host_still_loses_its_password():
    assert "hunter2" not in clean("connect to postgres://user:hunter2@")


def test_each_password_in_a_list_of_uris_gets_a_number():
    text = "redis://:one1@a redis://:two2@b redis://:one1@c"
    assert clean(text) == (
        "redis://:[REDACTED:uri_password#1]@a redis://:[REDACTED:uri_password#2]@b redis://:[REDACTED:uri_password#1]@c"
    )
