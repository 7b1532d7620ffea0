"""Names that announce a secret: `password`, `DB_PASS`, `client-secret`, `apiKey`, `X-Auth-Token`, and which do not.

A strong name is believed whatever follows it; after a weak one (a token may be a word of a grammar) the value has to
look like a credential by itself.
"""

import functools
import re
import string
from collections.abc import Iterator
from typing import Final, NamedTuple

from leasehold.redact.text import Page, end_of, start_of

TRIGGERS: Final = ("pass", "pw", "secret", "key", "token", "credential", "auth", "sess", "signature", "psk")
NAME_CHARACTERS: Final = string.ascii_lowercase + string.digits + "_-"
NAME_LENGTH_MAX: Final = 64
REST_OF_NAME: Final = re.compile(r"[a-z0-9_-]{0,64}")

SESSION: Final = re.compile(r"sess(?:ion)?[_-]?(?:id|key)$")
KINDS: Final = {
    "password": re.compile(
        r"passw|passphrase|passcode|pwd|(?:^|[_-]|db|user|root|admin|bind)pw$|(?:^|[_-])psk$"
        r"|(?:^|(?<!to)[_-]|db|smtp|imap|mail|user|root|admin|ftp|pg|redis|proxy|ldap|sql|require)pass[0-9]{0,2}$"
    ),
    "secret": re.compile(r"secret(?!ar(?:y|ies|iat))"),
    "api_key": re.compile(
        r"(?:api|access|private|encryption|signing|auth|master|account|shared|service|license|consumer|client|storage"
        r"|deploy|ssh|admin|webhook|hmac|jwt|aes|crypto|subscription|functions|app|application|routing|integration)"
        r"[_-]?keys?(?:$|[_0-9-])"
    ),
}
WEAK: Final = re.compile(r"token(?!iz)|credential|(?:^|[_-]|basic)auth$|^x-amz-signature$")
HARMLESS: Final = re.compile(
    r"(?:len|length|min|max|policy|policies|field|fields|file|files|filename|path|paths|dir|name|names|id|ids|type|types"
    r"|url|uri|urls|count|limit|expiry|expires|expiration|ttl|age|prompt|label|hint|required|enabled|env|var|vars|regex"
    r"|pattern|strength|column|input|form|format|reset|change|changed|error|errors|message|title|placeholder|help|info"
    r"|location|mode|version|algorithm|store|manager|provider|source|ref|refs|class|callback|hasher|hashers|validator"
    r"|validators|endpoint|usage|budget|spec|list|map|index|size|bytes|rotation|tokens|tokenizer|tokenize|ring|board"
    r"|word|words|error_count|date|time|at|status|state|exists|matches|valid|invalid|func|function|method|handler)$"
    r"|^(?:is|has|no|num|max|min|use|require|requires|invalid|wrong|bad|forgot|forgotten|reset|change|check|verify"
    r"|validate|get|find|read|parse|ask|prompt|need|needs|allow|without)[_-]"
)
NOT_HARMLESS: Final = re.compile(r"(?:passwords?|passwd|passphrases?|pwd|secret|keyword)$")


class KeyKind(NamedTuple):
    """What a name promises."""

    name: str
    strong: bool


class Key(NamedTuple):
    """One such name in a text; `name` is in lower case."""

    start: int
    end: int
    name: str
    kind: KeyKind


def find_keys(page: Page) -> Iterator[Key]:
    shadow = page.shadow
    for trigger in TRIGGERS:
        place = shadow.find(trigger)
        while place >= 0:
            key = _key(shadow, place)
            if key.kind.name:
                yield key
            place = shadow.find(trigger, max(key.end, place + 1))


def _key(shadow: str, place: int) -> Key:
    start = start_of(shadow, place, NAME_CHARACTERS, NAME_LENGTH_MAX)
    if start < place and shadow[start] in "nrt" and shadow[start - 1 : start] == "\\":  # an escape, not a letter
        start += 1
    end = end_of(REST_OF_NAME, shadow, place)
    name = shadow[start:end]
    return Key(start, end, name, kind_of(name.strip("_-")))


@functools.lru_cache(maxsize=4096)
def kind_of(name: str) -> KeyKind:
    """Return what a name promises; one without a class promises nothing."""
    if SESSION.search(name):
        return KeyKind("token", strong=False)
    if HARMLESS.search(name) and not NOT_HARMLESS.search(name):
        return KeyKind("", strong=False)
    for kind, pattern in KINDS.items():
        if pattern.search(name):
            return KeyKind(kind, strong=True)
    return KeyKind("token" if WEAK.search(name) else "", strong=False)
