"""Passwords in lists, pairs and objects, on the lines of a block, and as arguments that were escaped."""

import json

from tests.redact.checks import check_hidden, check_left_alone, clean
from tests.support.rows import every_row

WORD = "swordfish"  # letters only: nothing but its place shows that it is a password


@every_row(
    "template",
    [
        'passwords = ["{}"]',
        "passwords: ('{}',)",
        "passwords = {'{}'}",
        "passwords: list[str] = ['{}']",
        "PASSWORDS = frozenset(('{}',))",
        '{"passwords": ["{}"]}',
        r"{\"passwords\": [\"{}\"]}",
        '{"password": ["{}"]}',
        '{"password": {"value": "{}"}}',
        '{"password": {"S": "{}"}}',
        'passwords = {\n  bob = "{}"\n}',
        '"passwords": {"bob": "{}"}',
        "passwords: [{}]",
        '("password", "{}")',
        "('password', '{}')",
        "(b'password', b'{}')",
        '["password", "{}"]',
        "[('user', 'bob'), ('password', '{}')]",
        r"(\"password\", \"{}\")",
        "define( 'DB_PASSWORD', '{}' );",
        "run --password {} --user x",
        '["--password", "{}"]',
        "['x', '--db-password', '{}', 'y']",
        "auth=('bob', '{}')",
        "smtp.login('bob', '{}')",
        "HTTPDigestAuth('bob', '{}')",
    ],
)
def test_a_password_of_letters_only_is_hidden_in_lists_pairs_and_objects(template):
    check_hidden(template, WORD, "password")


@every_row(
    ("template", "name"),
    [
        ("[('X-Api-Key', '{}')]", "api_key"),
        ("[('Authorization', 'Bearer {}')]", "authorization"),
        ("curl -H 'X-Api-Key: {}' https://example.org", "api_key"),
        ("api_keys = ['{}']", "api_key"),
        ("client_secrets: ['{}']", "secret"),
    ],
)
def test_a_word_next_to_the_name_of_a_key_or_a_header_is_hidden(template, name):
    check_hidden(template, WORD, name)


@every_row(
    ("before", "between", "after"),
    [
        ("passwords = [", ", ", "]"),
        ("passwords = [\n  ", ",\n  ", ",\n]\nport = 1"),
        ("passwords = [  # old\n  ", ",  # older\n\n  # oldest\n  ", "\n]"),
        ("+passwords = [\n+    ", ",\n+    ", ",\n+]"),
    ],
)
@every_row("quote", ['"', "'"])
def test_every_item_of_an_array_over_several_lines_is_hidden(before, between, after, quote):
    first, second = (f"{quote}[REDACTED:password#{number}]{quote}" for number in (1, 2))
    found = clean(before + f"{quote}{WORD}{quote}" + between + f"{quote}hunterhunter{quote}" + after)
    assert found == before + first + between + second + after


@every_row(
    "text",
    [
        "('password', 'username')",
        "('username', 'password')",
        "fields = ['password', 'email', 'login']",
        "auth=('username', 'password')",
        '"secrets": ["database", "mail"]',
        '"secrets": ["db_password", "api-token"]',
        '"password": {"type": "string", "description": "a word"}',
        '"passwords": {"type": "array"}',
        "passwords = [first, second]",
        "passwords = []",
        "passwords = [\n]",
        'tokens = ["NAME", "NUMBER"]',
        "passwords = [read(path) for path in paths]",
        '("password", "swordfish", "more")',
        "form.add('password', 'Password')",
        "passwords: [${FIRST}, ${SECOND}]",
        "login(user, password)",
    ],
)
def test_names_and_references_in_lists_and_pairs_are_left_alone(text):
    check_left_alone(text)


@every_row("name", ["passwords", "secrets", "tokens", "api_keys", "password"])
@every_row(
    ("start", "item", "rest"),
    [
        ("{}:\n", "  - {}\n", "user: bob\n"),
        ("{}:\n", "- {}\n", "user: bob\n"),
        ("  {}:  # old\n", "    - '{}'  # older\n", "\n  user: bob\n"),
        ("+{}:\n", '+  - "{}"\n', " user: bob\n"),
        ("-{}:\n", "-  - {}\n", "-user: bob\n"),
        ("{}:\r\n", "  - {}\r\n", "user: bob\r\n"),
        ("{}:\n  # note\n\n", "  - {}\n", "  other\n"),
        (r"a: 1\n{}:\n", r"  - {}\n", r"user: bob\n"),
    ],
)
def test_the_items_of_a_block_list_are_hidden_and_what_follows_it_stays(name, start, item, rest):
    found = clean(start.replace("{}", name) + item.replace("{}", WORD) + item.replace("{}", "hunterhunter") + rest)
    assert WORD not in found
    assert "hunterhunter" not in found
    assert found.startswith(start.replace("{}", name))
    assert found.endswith(rest)
    assert found.count("[REDACTED:") == 2


def test_the_values_of_a_block_map_are_hidden_at_any_depth():
    found = clean("passwords:\n  bob: swordfish\n  team:\n    - hunterhunter\n    - alice: opensesame\nport: 80\n")
    assert found == (
        "passwords:\n  bob: [REDACTED:password#1]\n  team:\n    - [REDACTED:password#2]\n"
        "    - alice: [REDACTED:password#3]\nport: 80\n"
    )


def test_a_block_ends_where_its_indentation_does():
    text = "  passwords:\n    - swordfish\n names:\n    - alice\n"
    assert clean(text) == text.replace("swordfish", "[REDACTED:password#1]")
    text = "- passwords:\n    - swordfish\n- names:\n    - alice\n"
    assert clean(text) == text.replace("swordfish", "[REDACTED:password#1]")


@every_row(
    "text",
    [
        "passwords:\nuser: bob\n",
        "passwords:\n  - ${FIRST}\n  - <second>\n",
        "secrets:\n  - db_password\n  - source: api_token\n",
        "secrets:\n  db_password:\n    file: ./db_password.txt\n  other:\n    external: true\n",
        "password:\n  type: string\n  description: the word\n",
        "passwords:\n  - *anchor\n",
        "max_tokens:\n  - small\n",
        "tokens\n- swordfish\n",
        "the passwords:\n\nthen some text - as ever\n",
        "if passwords:\n    return\n",
        "for secret in secrets:\n    print(name)\n",
    ],
)
def test_blocks_without_a_secret_are_left_alone(text):
    check_left_alone(text)


@every_row(
    "arguments",
    [
        ["run", "--password", WORD],
        ["mysql", f"-p{WORD}", "db"],
        ["sshpass", "-p", WORD, "ssh"],
        ["curl", "-u", f"bob:{WORD}", "https://example.org"],
        ["docker", "login", "-p", WORD],
        ["redis-cli", "-a", WORD, "ping"],
    ],
)
@every_row("levels", [0, 1, 2])
def test_a_password_among_arguments_is_hidden_at_every_level_of_escaping(arguments, levels):
    text = json.dumps(arguments)
    for _ in range(levels):
        text = json.dumps({"log": text})
    found = clean(text)
    assert WORD not in found
    for _ in range(levels):
        found = json.loads(found)["log"]
    assert len(json.loads(found)) == len(arguments)


@every_row("levels", [1, 2])
@every_row("inner", [{"password": WORD}, {"passwords": [WORD, WORD]}, {"a": [["password", WORD]]}])
def test_an_object_is_hidden_at_every_level_of_escaping_and_stays_json(inner, levels):
    for separators in ((",", ":"), (", ", ": ")):
        text = json.dumps(inner, separators=separators)
        for _ in range(levels):
            text = json.dumps({"log": text})
        found = clean(text)
        assert WORD not in found
        for _ in range(levels):
            found = json.loads(found)["log"]
        assert json.loads(found).keys() == inner.keys()


@every_row(
    "template",
    [
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  conf: {}\n",
        "kind: Secret\nmetadata: {name: db}\nstringData:\n  conf: {}\n---\nkind: ConfigMap\ndata:\n  a: b\n",
        "data:\n  conf: {}\nkind: Secret\n",
        '{"kind":"Secret","data":{"conf":"{}"}}',
        r"{\"kind\":\"Secret\",\"data\":{\"conf\":\"{}\"}}",
    ],
)
def test_the_values_of_a_secret_of_kubernetes_are_hidden_whatever_their_names(template):
    check_hidden(template, "c3dvcmRmaXNo", "secret")


def test_a_config_map_is_left_alone():
    check_left_alone("kind: ConfigMap\ndata:\n  conf: swordfish\n")
    check_left_alone("kind: ConfigMap\ndata:\n  conf: swordfish\n---\nkind: Secret\nmetadata:\n  name: x\n")
