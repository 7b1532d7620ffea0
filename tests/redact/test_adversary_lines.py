"""Secrets on command lines, in URIs, in JSON and in logs: none of these may be left, and most once were.

The secret is a word of letters wherever that is possible, so that nothing but its place gives it away.
"""

import base64

import pytest

from tests.redact.vouching import DIGITS, LETTERS, clean

WORD, SIGNED = "swordfish", "Tr0ub4dor&3x"
ENCODED, LOGIN = base64.b64encode(b"swordfish").decode(), base64.b64encode(b"bob:swordfish").decode()
OTHER = "hunterhunter"  # the second password of the texts that have two
WORDS = [
    # curl
    "curl -u bob:{} https://x",
    "curl -ubob:{} https://x",
    "curl -H 'X-Api-Key: {}' x",
    'curl -H "Authorization: Bearer {}" x',
    "curl -d 'user=a&password={}' x",
    'curl --data-raw \'{"password":"{}"}\' x',
    "curl -F password={} x",
    "curl -x http://a:{}@p:1 x",
    "curl -U a:{} -x p x",
    "curl --proxy-user a:{} x",
    "wget --password={} x",
    "wget --http-password {} x",
    "wget --user=a --password {} x",
    'curl "https://x/?api_key={}"',
    "http -a bob:{} x",
    "curl -su bob:{} x",
    # uri
    "redis://:{}@h",
    "amqps://b:{}@h/v",
    "smtp://b%40x:{}@h:587",
    "https://b:{}@h/p.git",
    "jdbc:mysql://h/d?user=a&password={}",
    "jdbc:oracle:thin:bob/{}@h:1521:x",
    "jdbc:oracle:thin:bob/{}@//h:1521/x",
    "sqlplus bob/{}@orcl",
    "ldap://cn=a:{}@h",
    "postgresql://h/d?user=b&password={}",
    "postgres%3A%2F%2Fbob%3A{}%40h%2Fd",
    "https:\\/\\/bob:{}@h\\/x",
    "//bob:{}@h/x",
    "snowflake://b:{}@acct/db",
    "rtsp://admin:{}@10.0.0.2/s",
    "redis://h:6379?password={}",
    "clickhouse://h:9000?username=a&password={}",
    "mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BUID%3Da%3BPWD%3D{}%3B",
    # json
    '{"a":"{\\"password\\":\\"{}\\"}"}',
    '"{\\"b\\":\\"{\\\\\\"password\\\\\\":\\\\\\"{}\\\\\\"}\\"}"',
    '"\\"password\\":\\"{}\\""',
    '{\\"passwords\\":[\\"{}\\",\\"hunterhunter\\"]}',
    '"argv":"[\\"x\\",\\"--password\\",\\"{}\\"]"',
    "\\u0022password\\u0022:\\u0022{}\\u0022",
    '{"password":"{}',
    "{'password':'{}'}",
    '{"key":"password","value":"{}"}',
    '{"Key":"DbPassword","Value":"{}"}',
    '{"name":"password","type":"string","value":"{}"}',
    '{"ParameterKey":"DbPassword","ParameterValue":"{}"}',
    '[["password","{}"]]',
    '{"password":["{}"]}',
    '{"secret":{"value":"{}"}}',
    '{"password":{"S":"{}"}}',
    "%7B%22password%22%3A%22{}%22%7D",
    "%22password%22%3A%20%22{}%22",
    "&#34;password&#34;:&#34;{}&#34;",
    "{&quot;password&quot;:&quot;{}&quot;}",
    "{\\'password\\': \\'{}\\'}",
    'b\'{"password":"{}"}\'',
    '"password" : "{}" ,',
    '{"db":{"password":\n"{}"}}',
    'password:"{}"',
    '{password:"{}"}',
    '{:password=>"{}"}',
    "{\\x22password\\x22:\\x22{}\\x22}",
    "%257B%2522password%2522%253A%2522{}%2522",
    # log
    'time=x level=info msg="login" user=bob password={}',
    'level=info password="{}" x=1',
    "INFO login user=bob pass={} ok",
    "password={} user=bob",
    "password: {}",
    "the password '{}' is wrong",
    'using password "{}"',
    "[password={}]",
    "(password={})",
    "{password={}, user=bob}",
    "User{name='bob', password='{}'}",
    "user.password={}",
    "secret={};",
    "password=>{}",
    "+OK\nUSER bob\nPASS {}\n-ERR",
    "AUTH {}\n+OK",
    "a1 LOGIN bob {}",
    'a001 LOGIN "bob" "{}"',
    "new password: {}",
    "Generated password: {}",
    "initial admin password: {}",
    'psk="{}"',
    "wpa_passphrase={}",
    "snmp-server community {} RO",
    # conf
    "requirepass {}",
    "bindpw {}",
    "<Password>{}</Password>",
    "<password><![CDATA[{}]]></password>",
    '<property name="password" value="{}"/>',
    '<property name="password">{}</property>',
    '<entry key="password">{}</entry>',
    '<string name="api_key">{}</string>',
    "<key>Password</key>\n<string>{}</string>",
    "//user:bob password:{}",
    "smtp_sasl_password_maps = static:bob:{}",
    'password "{}"',
    "PASSWORD:{}",
    "password = {} ; old",
    "'password' => '{}',",
    "define('DB_PASSWORD', '{}');",
    "$db['default']['password'] = '{}';",
    "ansible_ssh_pass={}",
    "host1 ansible_user=a ansible_password={} x=1",
    "ansible_become_pass: {}",
    "sshpass -p{} ssh x",
    "sshpass -p '{}' ssh",
    "mysql -uroot -p{}",
    "mysql --password={}",
    "MYSQL_PWD={} mysql",
    "mongo -u a -p {} x",
    "mongosh --username a -p '{}'",
    'psql "host=h password={}"',
    "redis-cli -a {} ping",
    "rabbitmqctl add_user bob {}",
    "rabbitmqctl change_password bob {}",
    "echo {} | sudo -S ls",
    "echo '{}' | docker login --password-stdin",
    "echo bob:{} | chpasswd",
    "htpasswd -b f bob {}",
    "htpasswd -bc f bob {}",
    "openssl enc -k {} -in x",
    "openssl enc -pass pass:{}",
    "zip -P {} x",
    "7z a -p{} x",
    "unzip -P {} x",
    "smbclient //h/s -U bob%{}",
    "mount -o username=a,password={} //x",
    "net use x /user:bob {}",
    "net user bob {} /add",
    "gpg --passphrase {} x",
    "keytool -storepass {} x",
    "keytool -keypass {}",
    "docker login -u a -p {}",
    "helm repo add x --username a --password {}",
    "git remote add o https://bob:{}@h/x",
    "ldapsearch -D cn=a -w {} x",
    "vault kv put secret/x password={}",
    "vault kv put secret/x conf={}",
    "nmcli dev wifi connect x password {}",
    "ConvertTo-SecureString '{}' -AsPlainText",
    "New-Object PSCredential('a','{}')",
    "cmdkey /user:a /pass:{}",
    "psexec -u a -p {} x",
    "plink -pw {} h",
    "winscp /password={} x",
    "imap_pass = {}",
    "storePassword={}",
    "keyPassword '{}'",
    "-Dpassword={}",
    "-Djavax.net.ssl.keyStorePassword={}",
    "spring.datasource.password: {}",
]
WITH_SIGNS = [
    # curl
    "curl -s -XPOST -ubob:{} x",
    # uri
    "mongodb://b:{}@h1,h2/d",
    "bob:{}@h:5432/d",
    # log
    "Password is {}",
    "password is: {}",
    "Password for bob: {}",
    "password -> {}",
    "Your temporary password is {}",
    # conf
    "[mail]:587 bob:{}",
    "set password {}",
    "username bob password 0 {}",
    "password\t{}",
]
LOGINS = [
    # json
    '{"auths":{"r":{"auth":"{}"}}}',
]
LONG = [
    # curl
    "curl -b 'sessionid={}' x",
    # log
    "token: {} expired",
]
HEXADECIMAL = [
    # curl
    "curl -H 'Authorization: token {}' x",
    "curl --cookie sid={} x",
    "curl --oauth2-bearer {} x",
    # log
    "--> token={}",
    "api key {} rejected",
    "api key: {}",
]


def check_gone(template, secret):
    found = clean(template.replace("{}", secret))
    half = max(6, len(secret) // 2)
    assert secret[:half] not in found
    assert secret[-half:] not in found
    assert OTHER not in found


@pytest.mark.parametrize(
    ("template", "secret"),
    [
        *((template, WORD) for template in WORDS),
        *((template, SIGNED) for template in WITH_SIGNS),
        *((template, LOGIN) for template in LOGINS),
        *((template, LETTERS) for template in LONG),
        *((template, DIGITS) for template in HEXADECIMAL),
    ],
)
def test_no_secret_survives_on_a_command_line_in_a_uri_or_in_a_log(template, secret):
    check_gone(template, secret)
