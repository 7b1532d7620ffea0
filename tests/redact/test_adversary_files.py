"""Secrets in files, requests, tracebacks and statements: none of these may be left, and most once were.

The secret is a word of letters wherever that is possible, so that nothing but its place gives it away.
"""

from tests.redact.checks import DIGITS, ENCODED, LETTERS, LOGIN, SIGNED, WORD, check_gone
from tests.support.rows import every_row

WORDS = [
    # env
    "DB_PASSWORD={}",
    "export SECRET_TOKEN={}",
    "STRIPE_SECRET={}",
    "DATABASE_URL=postgres://a:{}@h/d",
    "JWT_SECRET={}",
    "MAIL_PASS={}",
    "BASIC_AUTH=bob:{}",
    "HTTP_PROXY=http://bob:{}@proxy:3128",
    "REDIS_PASSWORD={}",
    "POSTGRES_PASSWORD={}",
    "LDAP_BIND_PW={}",
    "SMTP_USER_PWD={}",
    "ES_PASSWD={}",
    "password1={}",
    "USERPASSWORD={}",
    # compose
    "services:\n  db:\n    environment:\n      MYSQL_ROOT_PASSWORD: {}\n",
    "    environment:\n      - POSTGRES_PASSWORD={}\n",
    '      - "POSTGRES_PASSWORD={}"\n',
    "    command: redis-server --requirepass {}\n",
    '    command: ["redis-server", "--requirepass", "{}"]',
    "x: {POSTGRES_PASSWORD: {}, POSTGRES_USER: a}",
    '      POSTGRES_PASSWORD: "{}"\n',
    "  - PGPASSWORD={}\r\n",
    'healthcheck: ["CMD", "mysqladmin", "ping", "-p{}"]',
    # k8s
    "kind: Secret\nstringData:\n  config: {}\n",
    "kind: Secret\nstringData:\n  config.yaml: |\n    dsn: {}\n",
    "kubectl create secret generic db --from-literal=password={}",
    "kubectl create secret generic db --from-literal=conf={}",
    "kubectl create secret generic db --from-literal conf='{}'",
    "        env:\n        - name: DB_PASSWORD\n          value: {}\n",
    "        - name: DB_PASSWORD\n          value: '{}'\n",
    "        - value: {}\n          name: DB_PASSWORD\n",
    '{"value":"{}","name":"DB_PASSWORD"}',
    # tf
    'db_password = "{}"',
    'variable "db_password" {\n  default = "{}"\n}',
    'variable "db_password" {\n  type = string\n  default = "{}"\n}',
    'variable "db_password" {\n  description = "a word"\n  type = string\n  sensitive = true\n  default = "{}"\n}',
    '  master_password      = "{}"',
    "terraform apply -var 'db_password={}'",
    'terraform apply -var="db_password={}"',
    "TF_VAR_db_password={} terraform plan",
    'passwords = {\n  bob = "{}"\n}',
    'passwords = {\n  "bob" = "{}"\n  "al" = "hunterhunter"\n}',
    'secret_string = jsonencode({ password = "{}" })',
    '      + password = "{}"',
    '      ~ password = "old-hunter" -> "{}"',
    '      ~ password = "{}" -> "old-hunter"',
    '"secret_string": "{\\"password\\":\\"{}\\"}"',
    'user_data = "export PASSWORD={}"',
    # netrc
    "machine a login b password {}",
    "machine a\n  login b\n  password {}\n",
    "default login anonymous password {}\n",
    "machine a login b password {} account c",
    "machine a login b password {}\nmachine c login d password hunterhunter",
    # pgpass
    "db.example.org:5432:jobs:app:{}",
    "localhost:5432:*:postgres:{}",
    "*:*:*:app:{}",
    "127.0.0.1:5432:jobs:app:{}\n10.0.0.2:5432:jobs:app:hunterhunter",
    # pip
    "[global]\nmirror = https://bob:{}@index.example.org/pkg",
    "find-links=https://__token__:{}@x/pkg",
    "pip install --proxy https://bob:{}@x/pkg y",
    "[pypi]\nusername = __token__\npassword = {}",
    "twine upload -u bob -p {} dist/*",
    "poetry config http-basic.x bob {}",
    # aws
    "aws secretsmanager create-secret --name x --secret-string '{}'",
    "aws ssm put-parameter --name /db/password --type SecureString --value {}",
    # azure
    "User ID=a;Pwd={};",
    '"connectionString": "Server=x;Uid=a;Pwd={};"',
    # http
    "Authorization: Bearer {}",
    "X-Api-Key: {}",
    "Api-Key: {}",
    "username=bob&password={}&x=1",
    "user=bob&passwd={}",
    '{"user":"bob","pass":"{}"}',
    '{"grant_type":"password","username":"b","password":"{}"}',
    "client_id=a&client_secret={}",
    # py
    "    password = '{}'",
    "locals: {'user': 'bob', 'password': '{}'}",
    "password='{}', user='bob'",
    "connect(host='x', passwd='{}')",
    "Config(password='{}', debug=True)",
    "KeyError: ('password', '{}')",
    "│ password = '{}' │",
    "        password   = '{}'",
    "  >  password: '{}'",
    "ValidationError: 1 validation error\npassword\n  too short [type=x, input_value='{}', input_type=str]",
    "args = ('bob',), kwargs = {'password': '{}'}",
    "{'headers': {'Authorization': 'Bearer {}'}}",
    "OrderedDict([('password', '{}')])",
    "Namespace(user='a', password='{}')",
    "environ({'DB_PASSWORD': '{}'})",
    "argv = ['x', '--password={}']",
    'psycopg.OperationalError: connection to "user=a password={} host=b" failed',
    "password=SecretStr('{}')",
    "password=b'{}'",
    '  File "x", line 1\n    login("bob", "{}")',
    "smtp.login('bob', '{}')",
    'server.login(user, "{}")',
    "ftp = FTP('h', 'bob', '{}')",
    "auth=HTTPDigestAuth('bob', '{}')",
    "auth=aiohttp.BasicAuth('bob', password='{}')",
    "redis.Redis(host='x', password='{}')",
    "params={'api_key': '{}'}",
    "hmac.new(b'{}', msg)",
    "jwt.encode(payload, '{}', algorithm='HS256')",
    # sql
    "CREATE USER a PASSWORD '{}'",
    "CREATE USER a WITH PASSWORD '{}';",
    "CREATE USER a WITH ENCRYPTED PASSWORD '{}';",
    "ALTER ROLE a PASSWORD '{}' VALID UNTIL 'x'",
    "CREATE USER 'a'@'h' IDENTIFIED BY '{}';",
    "IDENTIFIED WITH mysql_native_password BY '{}'",
    "IDENTIFIED WITH caching_sha2_password AS '{}'",
    "SET PASSWORD FOR 'a'@'h' = PASSWORD('{}');",
    "SET PASSWORD = '{}'",
    "GRANT ALL ON x.* TO 'a'@'%' IDENTIFIED BY '{}'",
    "CREATE LOGIN a WITH PASSWORD = '{}'",
    "CREATE LOGIN a WITH PASSWORD = N'{}'",
    "ALTER USER a IDENTIFIED BY {};",
    'ALTER USER a IDENTIFIED BY "{}"',
    "INSERT INTO users (name, password) VALUES ('bob', '{}')",
    "INSERT INTO users (name, password, x) VALUES ('bob', '{}', 1), ('al', 'hunterhunter', 2)",
    "UPDATE users SET password='{}' WHERE id=1",
    "UPDATE users SET password = '{}' WHERE id=1",
    "WHERE password = '{}'",
    "PRAGMA key = '{}'",
    "pgp_sym_encrypt(x, '{}')",
    "OPTIONS (user 'a', password '{}')",
    "dblink('host=h password={}')",
    "CREATE SUBSCRIPTION s CONNECTION 'host=h user=r password={}'",
    "CHANGE MASTER TO MASTER_USER='r', MASTER_PASSWORD='{}'",
    "PASSWORD E'{}'",
]
WITH_SIGNS = [
    # env
    "DB_PASSWORD='{}'",
    # netrc
    "machine a login b account c password {} macdef x",
    # azure
    "Server=tcp:x;User ID=a;Password={};Encrypt=True",
    # py
    "Config(password={}, debug=True)",
]
IN_BASE64 = [
    # k8s
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  password: {}\n",
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\ndata:\n  username: YWRtaW4=\n  db.conf: {}\n",
    '{"apiVersion":"v1","kind":"Secret","data":{"conf":"{}"}}',
    '{"kind": "Secret", "data": {"username": "YWRtaW4=", "conf": "{}"}}',
    # npmrc
    "//registry.example.org/:_password={}",
    '//r/:_password="{}"',
]
LOGINS = [
    # npmrc
    "_auth={}",
    "_auth = {}",
    # http
    "Authorization: Basic {}",
    "Proxy-Authorization: Basic {}",
    "> Authorization: Basic {}",
    "  'Authorization': 'Basic {}',",
]
LONG = [
    # env
    "CRYPT_SALT={}",
    "PASSWORD_SALT={}",
    # k8s
    "kubectl config set-credentials bob --token={}",
    "    token: {}",
    # npmrc
    "//registry.example.org/:_authToken={}",
    # pip
    "--find-links https://{}@x.example/pkg",
    "poetry config pypi-token.pypi {}",
    # aws
    "aws_secret_access_key = {}",
    "aws configure set aws_secret_access_key {}",
    '"SecretAccessKey": "{}"',
    "<SecretAccessKey>{}</SecretAccessKey>",
    "--secret-access-key {}",
    "s3cmd --access_key=x --secret_key={}",
    # http
    "GET /x?access_token={} HTTP/1.1",
    "GET /cb?code={}&state=x HTTP/1.1",
    "Set-Cookie: session={}; Path=/",
    "X-CSRF-Token: {}",
    "Sec-WebSocket-Protocol: bearer, {}",
    "id_token={}&state=1",
    # py
    "    token: '{}'",
    "argv = ['x', '--token', '{}']",
    # sql
    "CREDENTIALS 'aws_access_key_id=x;aws_secret_access_key={}'",
    "COPY t FROM 's3://x' ACCESS_KEY_ID 'x' SECRET_ACCESS_KEY '{}'",
]
HEXADECIMAL = [
    # env
    "API_KEY={}",
    "RAILS_MASTER_KEY={}",
    "GITHUB_TOKEN={}",
    "SENTRY_DSN=https://{}@o1.ingest.sentry.io/2",
    "TWILIO_AUTH_TOKEN={}",
    "DATADOG_API_KEY={}",
    "ENCRYPTION_KEY={}",
    # compose
    "    build:\n      args:\n        - NPM_TOKEN={}",
    # http
    "GET /x?token={} HTTP/1.1",
    "Cookie: sessionid={}",
    "X-Auth-Key: {}",
    "Ocp-Apim-Subscription-Key: {}",
    "X-Shopify-Access-Token: {}",
    'WWW-Authenticate: x\r\nAuthorization: Digest username="b", response="{}"',
]
ACCOUNT_KEYS = [
    # azure
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=core.windows.net",
    "AccountKey={}",
]


@every_row(
    ("template", "secret"),
    [
        *((template, WORD) for template in WORDS),
        *((template, SIGNED) for template in WITH_SIGNS),
        *((template, ENCODED) for template in IN_BASE64),
        *((template, LOGIN) for template in LOGINS),
        *((template, LETTERS) for template in LONG),
        *((template, DIGITS) for template in HEXADECIMAL),
        *((template, LETTERS * 2 + "abcdef==") for template in ACCOUNT_KEYS),
    ],
)
def test_no_secret_survives_in_a_file_a_request_or_a_statement(template, secret):
    check_gone(template, secret)
