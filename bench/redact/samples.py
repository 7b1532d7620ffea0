# ruff: noqa: E501, Q000, Q003 - a table of texts reads best as it is written in them
"""The classes of secrets that are measured: texts as people write them, with `{n}` for a name and `{v}` for the value.

Written from the public formats of the programs and languages concerned. A third of the rows of each class is held out:
chosen by the hash of the row, listed nowhere, counted only in the final figure.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from typing import Final, NamedTuple

from bench.redact.shapes import TOKENS, value

HELD_OUT_OF: Final = 3

STRONG: Final = (
    "password", "passwd", "db_password", "DB_PASSWORD", "smtpPassword", "secret", "client_secret", "clientSecret",
    "API_KEY", "apiKey", "x-api-key", "SECRET_KEY", "access_key", "adminPwd", "root_pass", "privateKey", "api_secret",
)  # fmt: skip
PASSWORDS: Final = ("password", "passwd", "db_password", "DB_PASSWORD", "smtpPassword", "adminPwd", "user_password")
KEYS: Final = (
    "adafruit_key", "ADAFRUIT_KEY", "algoliaKey", "beamer_api_token", "bittrexSecretKey", "MAPS_KEY", "confluent_key",
    "datadog_key", "discordClientSecret", "dropboxToken", "FASTLY_KEY", "finnhub_token", "flickrKey", "gitter_token",
    "HEROKU_KEY", "kraken_secret_key", "kucoinKey", "LAUNCHDARKLY_KEY", "linkedin_client_secret", "lob_key",
    "mattermost_token", "messagebirdKey", "netlify_access_token", "newrelic_key", "NYTIMES_KEY", "okta_token",
    "plaid_secret", "rapidapi-key", "sendbirdAccessId_token", "SENTRY_TOKEN", "snykToken", "squarespace_token",
    "sumologic_access_key", "travisToken", "trello_key", "TWITCH_TOKEN", "twitterApiSecret", "weatherKey", "ZENDESK_KEY",
    "codecov-token", "bitly_key", "circle_token", "dnsimple_key", "ipstackKey", "loggly_key", "moonclerk_key",
)  # fmt: skip
NAMED_VALUES: Final = ("<h32>", "<h40>", "<uuid>", "<x16>", "<x20>", "<a20>", "<x32>", "<w32>", "<h64>", "<a32>")
ANY: Final = ("<h32>", "<uuid>", "<x20>", "<x40>", "signed", "<b44>")
PASS: Final = ("word", "signed", "<x16>")
MIXED: Final = ("signed", "<x16>", "<x12>", "<h32>")

ASSIGNED: Final = (
    '{n} = "{v}"', "{n} = '{v}'", "{n}={v}", '{n}="{v}"', "{n}='{v}'", "{n}: {v}", '{n}: "{v}"', "{n} : '{v}'",
    '"{n}": "{v}"', '{"{n}":"{v}"}', "'{n}': '{v}',", '{n} := "{v}"', "{n} := `{v}`", 'var {n} string = "{v}"',
    'string {n} = "{v}";', 'String {n} = "{v}";', 'const {n} = "{v}";', "let {n} = '{v}';", "export {n}={v}",
    "export {n}='{v}'", "ENV {n}={v}", "ARG {n}={v}", '"{n}" => "{v}",', "'{n}' => '{v}'", "{n} => {v}",
    ":{n} => '{v}'", "<{n}>{v}</{n}>", "<{n}>\n    {v}\n</{n}>", "{n}: |\n  {v}\n", "{n}: >\n  {v}\n",
    '("{n}", "{v}")', '{n} <- "{v}"', "set {n}={v}", "$env:{n} = '{v}'", "-D{n}={v}", "--set {n}={v}", '[{n}] = "{v}"',
    'cfg["{n}"] = "{v}"', "config['{n}']='{v}'", "https://api.example.com/v1?{n}={v}", "GET /x?a=1&{n}={v}&b=2 HTTP/1.1",
    'req.Header.Add("{n}", "{v}")', 'headers["{n}"] = "{v}"', "INFO loaded {n}={v} from env", '- name: {n}\n  value: {v}',
    '- name: {n}\n  value: "{v}"', "{n}: !!str '{v}'", '{n} = b"{v}"', "#define {n} \"{v}\"", '{ "name": "{n}", "value": "{v}" }',
    "+{n} = '{v}'", "-  {n}: {v}", "> {n}={v}", '\\"{n}\\": \\"{v}\\"', "{n}\t=\t{v}", "  {n}:    {v}", "{n}  =  \"{v}\"",
    '{n} = @"{v}"', 'NSString *{n} = @"{v}";', 'auto {n} = std::string("{v}");', "let {n}: String = \"{v}\"",
    'static const char {n}[] = "{v}";', 'val {n}: String = "{v}"', "my ${n} = '{v}';", '${n} = "{v}";', "#{n}={v}",
    "// {n}: {v}", "{n}={v};", '{"{n}" : "{v}" , "x":1}', "curl -H '{n}: {v}' https://example.com/",
)  # fmt: skip
OPERATORS: Final = (
    "{n} ::= {v}", "{n} ::= \"{v}\"", "{n} :::= {v}", "{n} .= \"{v}\"", "${n} .= '{v}';", "{n} += \"{v}\"", "{n} += {v}",
    "{n} ??= '{v}'", "${n} ??= \"{v}\";", "{n} ||= '{v}'", "{n} &&= \"{v}\"", "{n} ?= {v}", "{n} ?= \"{v}\"", "{n} != \"{v}\"",
    "{n} !== '{v}'", 'if {n} == "{v}":', 'if ({n} === "{v}") {', 'if "{v}" == {n}:', "if ('{v}' === {n}) {",
    'if ("{v}" != {n})', 'const x = process.env.{n} || "{v}";', "x = os.environ.get('{n}') or '{v}'",
    'x = os.environ.get("{n}", "{v}")', "x = os.getenv('{n}', '{v}')", 'process.env.{n} ?? "{v}"', "getenv('{n}') ?: '{v}'",
    'ENV["{n}"] || "{v}"', "ENV.fetch('{n}', '{v}')", 'ENV.fetch("{n}") { "{v}" }', "${{n}:-{v}}", "${{n}:={v}}",
    '{n} = env || "{v}"', "{n} = x if x else '{v}'", "{n} = config.get('x') or \"{v}\"", '{n}.equals("{v}")',
    '"{v}".equals({n})', "{n} eq '{v}'", "{n} -eq '{v}'", "if [ \"${n}\" = \"{v}\" ]; then", "{n} =~ '{v}'", '{n}=>"{v}"',
    "{n} -> '{v}'", '{n} = {"{v}"}', "WHERE {n} = '{v}'", "SET {n} = '{v}'", "{n} = N'{v}'", "{n} = (\"{v}\")", "{n} = ['{v}']",
)  # fmt: skip
CALLS: Final = (
    '{n}("{v}")', "{n}('{v}')", '.{n}("{v}")', 'builder.set_{n}("{v}")', 'with_{n}("{v}")', 'std::string {n}("{v}");',
    '{n}("{v}");', "{n} ('{v}')", "curl_setopt($ch, CURLOPT_USERPWD, \"bob:{v}\");", "CURLOPT_USERPWD => 'bob:{v}',",
    'curl_easy_setopt(curl, CURLOPT_USERPWD, "bob:{v}");', 'curl_easy_setopt(h, CURLOPT_PASSWORD, "{v}");',
    'new NetworkCredential("bob", "{v}")', 'UsernamePasswordCredentials("bob", "{v}")', 'setenv("{n}", "{v}", 1);',
    'System.setProperty("{n}", "{v}");', "putenv('{n}={v}');", 'os.environ.setdefault("{n}", "{v}")', "PASSWORD('{v}')",
    'DriverManager.getConnection(url, "bob", "{v}")', "mysqli_connect('h', 'bob', '{v}', 'db')", 'login("bob", "{v}")',
    'new PDO($dsn, "bob", "{v}")', '{n}: password("{v}")', 'String {n}("{v}")', 'authenticate("bob", "{v}")',
    "ftp_login($c, 'bob', '{v}')", 'session.auth = ("bob", "{v}")', '{n} "{v}"', "{n} '{v}';", '(set-{n} "{v}")',
)  # fmt: skip
COMMANDS: Final = (
    "curl -u bob:{v} https://x.example", "curl -X POST \\\n  -u bob:{v} \\\n  https://x.example",
    "curl https://x.example \\\n  --user 'bob:{v}'", "curl --user bob:'{v}' https://x.example", 'curl --user bob:"{v}" x',
    "curl --oauth2-bearer {v} https://x.example", "curl -sS 'https://x.example/a?b=1&c=2' -u \"bob:{v}\"",
    'curl -H "X-Api-Key: {v}" \\\n  x', "curl -v -k --basic -u 'bob:{v}' x", "curl --user=bob:{v} x", "curl -U bob:{v} x",
    "curl --proxy-user bob:'{v}' x", "curl https://x.example/ \\\n -H 'A: b' \\\n -d 'a=b&c=d' \\\n -u bob:{v}",
    "Connect-Thing -ClientSecret {v}", "New-Thing -Password {v} -User bob", "Connect -ClientId x -ClientSecret '{v}'",
    "tool -secretKey {v} -x", "app -apiKey {v}", "java -jar x.jar -password {v}", "wget --password={v} x",
    "psql --password {v}", "tool --client-secret={v}", "tool --api-key '{v}'", "tool --token {v}", "mysql -u root -p{v} db",
    "sshpass -p {v} ssh host", "docker login -u bob -p {v} r.example", "redis-cli -a {v} ping", "az login -u bob -p {v}",
    "echo {v} | docker login --password-stdin", "keytool -storepass {v} -list", "openssl rsa -passin pass:{v} -in k",
    "ENV DB_PASSWORD {v}", "ENV API_KEY {v}\nRUN x", "ARG SECRET_KEY={v}", "setenv DB_PASSWORD {v}", "set -x DB_PASSWORD {v}",
    "conda config --set proxy_password {v}", "npm config set //r.example/:_authToken {v}", "net use x: \\\\h\\s /user:bob {v}",
    "cmdkey /add:h /user:bob /pass:{v}", "aws configure set aws_secret_access_key {v}", "htpasswd -b f bob {v}",
    "PGPASSWORD={v} psql -h h", "mongo -u bob -p {v} h", "ldapsearch -w {v} -x", "kubectl create secret generic a --from-literal=b={v}",
    "heroku config:set API_KEY={v}", "gh secret set X --body {v}", "vault kv put secret/a password={v}", "rclone --webdav-pass {v}",
)  # fmt: skip
PLACES: Final = (
    "<property>\n  <name>{n}</name>\n  <value>{v}</value>\n</property>", "<key>{n}</key>\n<string>{v}</string>",
    '<add key="{n}" value="{v}"/>', '<add value="{v}" key="{n}"/>', '<setting name="{n}">\n  <value>{v}</value>\n</setting>',
    '<entry key="{n}">{v}</entry>', "<{n}>\n  {v}\n</{n}>", '<param name="{n}" value="{v}"/>', "<name>{n}</name><value>{v}</value>",
    '<void property="{n}"><string>{v}</string></void>', '<item><key>{n}</key>\n<value>{v}</value></item>',
    "name,email,{n}\nbob,b@x.example,{v}\namy,a@x.example,x", "user,{n}\nbob,{v}", '"user","{n}","role"\n"bob","{v}","admin"',
    "user;{n};role\nbob;{v};admin", "user\t{n}\thost\nbob\t{v}\th1", "| user | {n} |\n|---|---|\n| bob | {v} |",
    "| {n} | user |\n| :-- | --- |\n| {v} | bob |", "|user|{n}|host|\n|----|:---:|---|\n|amy|x|h|\n|bob|{v}|h|",
    " user | {n} \n------+----------\n bob  | {v}\n(1 row)", "+------+-----+\n| user | {n} |\n+------+-----+\n| bob | {v} |\n+------+-----+",
    "id,{n},user\n1,{v},bob", "||user||{n}||\n|bob|{v}|", "{n}:\n  {v}\n", "{n} =\n    \"{v}\"",
    "{n}: >-\n    {v}", '{\n  "key": "{n}",\n  "value": "{v}"\n}', '{"value": "{v}", "name": "{n}"}', "- key: {n}\n  value: {v}",
    "{n}:\n- {v}", '"{n}": [\n  "{v}"\n]', "[{n}]\nvalue = {v}", "{n}\t{v}",
    'name = "{n}"\nvalue = "{v}"', "<td>{n}</td><td>{v}</td>", "<tr><td>{n}:</td>\n<td>{v}</td></tr>", "<dt>{n}</dt><dd>{v}</dd>",
)  # fmt: skip
REPEATED: Final = (
    'password = "{v}"\nlog.info("trying {v} now")', "DB_PASSWORD={v}\n# old: {v}", "api_key: {v}\nGET /x/{v}/y",
    "secret = '{v}'\nassert f(x) == \"{v}\"", "first {v} then\npassword={v}", "https://bob:{v}@h.example/\nretry with {v}",
    '{"password": "{v}"}\n{"note": "{v} was refused"}', "Authorization: Bearer {v}\nx = {v};", "curl -u bob:{v} x\necho {v}",
)  # fmt: skip
PROSE: Final = (
    "the password is {v}", "Your password is: {v}", "token is {v}", "The token is {v}.", "API key is {v}", "my api key: {v}",
    "use {v} as the password", "Use {v} as your password.", "log in with password {v}", "with {v} as the api key",
    "The secret is {v}, keep it.", "the password for bob is {v}", "password was changed to {v}", "{v} is the password",
    "{v} is my token", "The access token is {v}", "your new password will be {v}", "set the password to {v}",
    "the passphrase is \"{v}\"", "credentials are bob / {v}", "user: bob, pass: {v}", "login: bob password: {v}",
    "username bob and password {v}", "bob with password '{v}'", "password ({v})", "secret key `{v}`",
    "Das Passwort ist {v}", "Das Passwort lautet {v}.", "Kennwort: {v}", "Ihr Kennwort ist {v}", "verwende {v} als Passwort",
    "Passwort für bob: {v}", "Le mot de passe est {v}", "mot de passe : {v}", "votre mot de passe est {v}",
    "utilisez {v} comme mot de passe", "la contraseña es {v}", "contraseña: {v}", "su contraseña es {v}", "La clave es {v}",
    "usa {v} como contraseña", "contrasena = {v}", "a senha é {v}", "senha: {v}", "sua senha é {v}", "use {v} como senha",
    "palavra-passe: {v}", "la password è {v}", "la parola d'ordine è {v}", "usa {v} come password", "la tua password è {v}",
    "het wachtwoord is {v}", "wachtwoord: {v}", "uw wachtwoord is {v}", "gebruik {v} als wachtwoord", "пароль: {v}",
    "пароль — {v}", "Ваш пароль: {v}", "hasło: {v}", "hasło to {v}", "密码：{v}", "密码是{v}", "密码: {v}", "パスワードは{v}です",
    "パスワード: {v}", "비밀번호: {v}", "lösenord: {v}", "heslo: {v}", "şifre: {v}", "the key is {v}", "clé secrète : {v}",
    "le jeton est {v}", "Der Schlüssel lautet {v}", "el token es {v}", "il token è {v}", "o token é {v}", "het token is {v}",
)  # fmt: skip
PROSE_VALUES: Final = ("signed", "<x16>", "<x20>", "<h32>")
MISSPELT: Final = (
    "pswd", "PSWD", "passwrd", "pasword", "pssword", "passord", "pass_word", "passwort", "psw", "user_pswd", "db_psw",
    "pword", "PWORD", "passcode", "pass_phrase", "passPhrase", "pwrd", "p4ssword", "parola", "kennwort", "userpass",
    "dbpass", "DBPASS", "mypass", "admin_pass", "passw", "pw", "user_pw", "rootpw", "secert", "screct_key", "credential",
    "api_kay", "apikeys", "acces_key", "auth_pass", "sudo_pass", "login_pass", "encryptionKey", "master_key", "signing_key",
    "hmac_secret", "pass1", "password2", "new_password", "oldPassword", "password_confirmation", "ftp_pwd", "wifi_psk",
    "sharedSecret", "consumer_secret", "CLIENTSECRET", "bot_token", "otp_secret", "totp_seed", "cookie_secret", "jwt_secret",
)  # fmt: skip
RELATED: Final = (
    ("pin = '{v}'", "<d6>"), ("PIN: {v}", "<d4>"), ("pin_code={v}", "<d6>"), ('"pin": "{v}"', "<d4>"), ("user_pin = {v}", "<d6>"),
    ("your PIN is {v}", "<d4>"), ("mnemonic: {v}", "seed"), ('mnemonic = "{v}"', "seed"), ("seed phrase: {v}", "seed"),
    ("MNEMONIC='{v}'", "seed"), ("recovery phrase is {v}", "seed"), ('"seedPhrase": "{v}"', "seed"), ("seed_phrase={v}", "seed"),
    ("const mnemonic = '{v}'", "seed"), ("SEED=\"{v}\"", "seed"), ("recovery code: {v}", "<a5>-<a5>"), ("passkey={v}", "<x16>"),
    ("unlock_code = {v}", "<d8>"), ("puk: {v}", "<d8>"), ("wallet words: {v}", "seed"),
)  # fmt: skip
URIS: Final = (
    "postgres://bob:{v}@h.example:5432/d", "bob:{v}@db.example.com", "bob:{v}@10.0.0.5:5432/d", "connect to bob:{v}@h.example/db now",
    "smtps://bob@mail.example:{v}@smtp.example:465", "https://bob:{v}@example.com/", "redis://:{v}@h:6379",
    "mongodb+srv://bob:{v}@c.example.net/?x=1", "amqp://bob:{v}@h//", "ftp://bob:{v}@h.example", "mysql2://bob:{v}@h/d",
    "dsn: bob:{v}@tcp(127.0.0.1:3306)/d", "root:{v}@tcp(h:3306)/db?x=1", "https://{v}@example.com/a.git", "sftp://bob:{v}@h",
    "https://x.example/o?X-Goog-Algorithm=a&X-Goog-Signature={v}", "https://x.example/o?X-Amz-Signature={v}",
    "https://x.example/?key={v}", "https://x.example/?a=1&key={v}&b=2", "https://x.example/?apikey={v}", "x?access_token={v}",
    "https://x.example/?sig={v}&se=1", "https://x.example/?auth={v}", "?token={v}&x",
    "sqlserver://bob:{v}@h:1433?database=d", "ldap://cn=a:{v}@h", "proxy=http://bob:{v}@p:8080", "jdbc:mysql://h/d?user=a&password={v}",
    "postgresql://h/d?user=b&password={v}", "imap://bob%40x:{v}@h", "scp bob:{v}@h.example:/x",
)  # fmt: skip
ESCAPED: Final = (
    "password\\u003d{v}", '"q": "a\\u003d1\\u0026password\\u003d{v}\\u0026b"', "password%3D{v}", "password&#61;{v}", "password=3D{v}",
    '\\"password\\":\\"{v}\\"', '\\\\\\"password\\\\\\":\\\\\\"{v}\\\\\\"', "password\\x3d{v}", "{&quot;password&quot;:&quot;{v}&quot;}",
    "\\u0022password\\u0022:\\u0022{v}\\u0022", "password\\u003a {v}", "apiKey\\u003d{v}\\u0026x", "password&#x3d;{v}",
)  # fmt: skip
HEADERS: Final = (
    "Authorization: Bearer {v}", "authorization: token {v}", "X-Api-Key: {v}", "X-Auth-Token: {v}", "'Authorization': 'Bearer {v}'",
    "Cookie: sessionid={v}; a=b", "Set-Cookie: auth={v}; Path=/", "Proxy-Authorization: Bearer {v}", 'Authorization = "Bearer {v}"',
    '-H "Authorization: Token token={v}"', "PRIVATE-TOKEN: {v}", "X-Vault-Token: {v}", "Api-Key: {v}", "Ocp-Apim-Subscription-Key: {v}",
    "X-Shopify-Access-Token: {v}", "apikey: {v}", "Authorization: ApiKey {v}", "Authorization: {v}", "X-Figma-Token: {v}",
    "DD-API-KEY: {v}", "x-rapidapi-key: {v}", "X-Session-Token: {v}",
)  # fmt: skip
NEAR: Final = (
    "adafruit token - '{v}'", "airtable key '{v}'", "asana secret {v}", "heroku api key {v}", "mailgun key is {v}", "twilio auth token {v}",
    "[DEBUG] Using Key={v}", "[DEBUG] key={v} loaded", "algolia: '{v}'", "datadog = '{v}'", "snyk = {v}", "cloudflare '{v}'",
    "// api key {v}", "secret access key {v}", "# token {v}", "auth token: {v}", "using api token {v} for x", "bearer {v}",
    'github("{v}")', "okta -> '{v}'", "stripe secret: {v}", "facebook_app {v}", "key: {v}", "Token {v}", "apikey {v}",
)  # fmt: skip
ALONE: Final = (
    "{v}",
    "got {v} back",
    '"{v}"',
    "x = '{v}'",
    "line\\n{v}\\nline",
    "https://x.example/?a={v}&b=1",
    "[{v}]",
    "x: {v},",
)


class Class(NamedTuple):
    """One class: its texts, the names and the values that are put into them."""

    name: str
    texts: tuple[str, ...]
    names: tuple[str, ...]
    values: tuple[str, ...]


class Sample(NamedTuple):
    """One text and the secret in it."""

    name: str
    row: str
    text: str
    secret: str
    held_out: bool


CLASSES: Final = (
    Class("name, operator, value", ASSIGNED, STRONG, ANY),
    Class("key name and hex, uuid or base62", ASSIGNED, KEYS, NAMED_VALUES),
    Class("other operators", OPERATORS, STRONG, ANY),
    Class("other operators, a word", OPERATORS, PASSWORDS, PASS),
    Class("calls", CALLS, PASSWORDS, PASS),
    Class("command lines", COMMANDS, STRONG, MIXED),
    Class("another line or column", PLACES, PASSWORDS, MIXED),
    Class("repeated in the same text", REPEATED, STRONG, MIXED),
    Class("prose", PROSE, STRONG, PROSE_VALUES),
    Class("misspelt and related names", ('{n} = "{v}"', "{n}={v}", "{n}: {v}", '"{n}": "{v}"'), MISSPELT, ("signed", "<x16>")),
    Class("uris", URIS, STRONG, ("<x16>", "<x20>", "<h32>", "<x12>!<x4>")),
    Class("escaped", ESCAPED, STRONG, ("<x16>", "<h32>")),
    Class("headers", HEADERS, STRONG, ("<x32>", "<h32>", "<uuid>", "<x40>")),
    Class("near a name", NEAR, STRONG, ("<h32>", "<x32>", "<h40>", "<x20>")),
)  # fmt: skip
VALUES_EACH: Final = 3


def samples() -> Iterator[Sample]:
    """Yield every sample, the same ones at each call."""
    for kind in CLASSES:
        for number, text in enumerate(kind.texts):
            yield from _filled(kind, text, number)
    for token in TOKENS:
        for text in ALONE:
            yield _sample("token with a prefix", text, "", token)
    for text, shape in RELATED:
        yield _sample("pins and seed phrases", text, "", shape)
    yield from _keys()


def _filled(kind: Class, text: str, number: int) -> Iterator[Sample]:
    names = kind.names if kind.names is MISSPELT else [kind.names[(number * 3 + i) % len(kind.names)] for i in range(3)]
    for i, name in enumerate(names):
        yield _sample(kind.name, text, name, kind.values[(number + i) % len(kind.values)])


def _sample(kind: str, text: str, name: str, shape: str) -> Sample:
    row = f"{text} {name} {shape}"
    dice = random.Random(row)
    secret = value(dice, shape)
    return Sample(kind, row, text.replace("{n}", name).replace("{v}", secret), secret, is_held_out(row))


def is_held_out(row: str) -> bool:
    return hashlib.sha256(row.encode()).digest()[0] % HELD_OUT_OF == 0


PREFIXES: Final = (
    "", "+", "    ", "> ", "2026-01-02T03:04:05.678Z ", "[2026-01-02 03:04:05,678] INFO app: ", "web_1  | ", "app-7d9f-x2x | ",
    "Jan  2 03:04:05 host app[123]: ", "<14>1 2026-01-02T03:04:05Z h app - - - ", "I0102 03:04:05.678 1 x.go:12] ", "2026/01/02 03:04:05 ",
)  # fmt: skip
NUMBERED: Final = ("{i:6}\t", "key.pem:{i}:", "{i}:", "{i}: ", "a/b.pem-{i}-", "{i:>3} | ", "{i} ", "L{i}: ")


def _keys() -> Iterator[Sample]:
    """Yield private keys behind what logs, containers and searches put before a line."""
    for prefix in (*PREFIXES, *NUMBERED):
        for width, last in ((64, 44), (64, 4), (70, 12), (76, 60), (64, 8)):
            for kind in ("RSA ", "", "OPENSSH "):
                yield _key(prefix, width, last, kind)


def _key(prefix: str, width: int, last: int, kind: str) -> Sample:
    row = f"{prefix} {width} {last} {kind}"
    dice = random.Random(row)
    body = [value(dice, f"<b{width}>") for _ in range(7)] + [value(dice, f"<b{last - 2}>") + "=="]
    lines = [f"-----BEGIN {kind}PRIVATE KEY-----", *body, f"-----END {kind}PRIVATE KEY-----"]
    text = "\n".join(prefix.replace("{i", "{0").format(i + 7) + line for i, line in enumerate(lines))
    return Sample("private key behind a prefix", row, f"before\n{text}\nafter", "\n".join(body), is_held_out(row))
