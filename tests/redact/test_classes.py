"""Every class of secret that the benchmark draws is found as often as promised; one row is one way to write it."""

from bench.redact.recall import counted
from bench.redact.samples import CLASSES
from leasehold.redact import Redactor
from tests.redact.checks import DIGITS, LETTERS, check_gone, check_left_alone, clean
from tests.support.rows import every_row

DRAWN = LETTERS[:16]
RECALL_MIN = 0.97
HEADS = ("user,password,role\nbob,{},admin", "| user | password |\n|---|---|\n| bob | {} |", "user\tpassword\nbob\t{}")


def test_of_the_samples_of_every_class_nearly_all_are_hidden():
    total, left = counted(Redactor(), held_out=False)
    assert {kind.name for kind in CLASSES} <= set(total)
    assert len(left) <= (1 - RECALL_MIN) * total.total(), "\n".join(repr(sample.text) for sample in left)


@every_row(
    "template",
    [
        *HEADS,
        "MAPS_KEY={}",
        "fooKey := {}",
        "https://example.org/?key={}",
        "curl https://x \\\n  -u bob:{} \\\n  -v",
        "curl --user bob:'{}' x",
        "curl --oauth2-bearer {} x",
        "Connect -ClientSecret {}",
        "password ::= {}",
        "$password .= '{}';",
        'x = process.env.PASSWORD || "{}"',
        'if "{}" == password:',
        'password("{}")',
        "curl_setopt($c, CURLOPT_USERPWD, 'bob:{}');",
        "<name>password</name>\n<value>{}</value>",
        "use {} as the password",
        "das Passwort lautet {}",
        "la contrase\u00f1a es {}",
        "\u5bc6\u7801\uff1a{}",
        "PSWD={}",
        "smtps://bob@mail.example:{}@smtp.example:465",
        "root:{}@tcp(db:3306)/x",
        "ENV DB_PASSWORD {}",
        "password\\u003d{}",
        "password = '{}'\nretry with {} failed",
    ],
)
def test_a_secret_in_these_notations_is_hidden(template):
    check_gone(template, DRAWN)


@every_row("text", ["pin: 482913", "mnemonic: " + "canyon velvet magnet " * 4, f"squ_{DIGITS}{DIGITS[:8]}"])
def test_what_has_a_shape_of_its_own_is_hidden(text):
    assert clean(text) != text


@every_row(
    "text",
    [
        "passwd:         files systemd",
        "hf_BertForSequenceClassificationWithPooling",
        "password: ENC[AES256_GCM,data:" + LETTERS + ",iv:" + LETTERS + ",tag:" + LETTERS[:22] + "==,type:str]",
        "@font-face { src: url(data:application/font-woff;charset=utf-8;base64," + LETTERS * 3 + ") }",
        "-----BEGIN CERTIFICATE-----\n" + (LETTERS + LETTERS[:24] + "\n") * 2 + "-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\n" + (LETTERS + LETTERS[:24] + "\n") * 2 + "-----END PUBLIC KEY-----",
        "user,password,role\nbob,none,admin",
        "pin: 3.1.2",
        'cache_key = "' + DIGITS + '"',
    ],
)
def test_what_only_looks_like_one_of_these_is_left_alone(text):
    check_left_alone(text)
