"""Names that announce a secret: `password`, `DB_PASS`, `client-secret`, `apiKey`, `X-Auth-Token`, and which do not.

A strong name is believed whatever follows it; after a weak one (a token may be a word of a grammar) the value has to
look like a credential by itself. What a sentence calls a secret, in some languages, is a name too.
"""

import enum
import functools
import re
import string
from collections.abc import Iterator
from typing import Final, NamedTuple

from leasehold.redact.page import Literals, NewPart, Page, end_of, matches, start_of, word_of

ANNOUNCING: Final = (
    "pass", "pw", "secret", "key", "token", "credential", "auth", "sess", "signature", "psk", "psw", "pasw", "pssw",
    "pword", "mnemonic", "seed", "recovery", "pin", "puk", "unlock", "kennwort", "wachtwoord", "senha", "parola",
    "clave", "secert", "p4ss", "contrasena", "haslo", "heslo", "sifre", "jeton", "pincode", "userpin",
)  # fmt: skip
WHOLE_WORDS: Final = ("pin", "puk", "senha", "parola", "clave", "jeton")
TRIGGERS: Final = Literals(
    ((name, f" {name} " if name in WHOLE_WORDS else word_of(name)) for name in ANNOUNCING), WHOLE_WORDS
)
NAME_CHARACTERS: Final = string.ascii_lowercase + string.digits + "_-"
NAME_LENGTH_MAX: Final = 64
REST_OF_NAME: Final = re.compile(r"[a-z0-9_-]{0,64}")

SESSION: Final = re.compile(r"sess(?:ion)?[_-]?(?:id|key)$")
PIN: Final = re.compile(
    r"(?:^|[_-]|user|card|atm|sim|login|access|security)(?:pin|puk)(?:[_-]?(?:code|number|nr))?$|unlock[_-]?(?:code|pin)$"
)
SEED: Final = re.compile(
    r"mnemonics?$|(?:wallet|recovery|backup|seed)[_-]?(?:phrase|words|codes?|keys?|seed)$|(?:^|[_-]|master|totp|otp)seed$"
)
KINDS: Final = {
    "password": re.compile(
        r"passw|passphrase|passcode|pwd|(?:^|[_-]|db|user|root|admin|bind)pw$|(?:^|[_-])psk$|wifipsk$"
        r"|(?:^|(?<!to)[_-]|db|smtp|imap|mail|user|root|admin|ftp|pg|redis|proxy|ldap|sql|require|login|my)pass[0-9]{0,2}$"
        r"|pass[_-](?:word|phrase|code)$|passor|p4ssw|pasw|pssw|pswd|psw$|pwrd|passkey$|(?:^|[_-]|user|my|db)pword$"
        r"|kennwort|wachtwoord|(?:^|[_-])(?:senha|parola|clave|contrasena|haslo|heslo|sifre)$"
    ),
    "secret": re.compile(r"secert|secret(?!ar(?:y|ies|iat))"),
    "api_key": re.compile(
        r"(?:api|access|private|encryption|signing|auth|master|account|shared|service|license|consumer|client|storage"
        r"|deploy|ssh|admin|webhook|hmac|jwt|aes|crypto|subscription|functions|app|application|routing|integration)"
        r"[_-]?keys?(?:$|[_0-9-])"
    ),
}
WEAK: Final = re.compile(r"token(?!iz)|credential|(?:^|[_-]|basic)auth$|^x-(?:amz|goog)-signature$|^jeton$")
KEY: Final = re.compile(r"keys?[0-9]{0,2}$")
# Names of keys that open nothing.
OPEN_KEYS: Final = re.compile(
    r"(?:cache|primary|foreign|public|pub|partition|sort|idempotency|effect|job|row|group|index|lookup|hash|dedupe|map|dict"
    r"|natural|unique|candidate|composite|config|object|translation|message|i18n|storage|state|sub|super|first|last|next"
    r"|prev|min|max|any|no|the|by|on|of|is|has|get|set|del|for|range|shard|route|event|registry|header|meta|tag|label|kv"
    r"|hot|short|cut|don|mon|tur|task|request|trace|span|order|version|file|path|field|column|attr|param|property|entry"
    r"|item|node|menu|arrow|ctrl|shift|enter|escape|press|modifier|alt|home|end|page|sql|json|yaml|xml|s3|bucket|blob"
    r"|checksum|digest|fingerprint|host|known|sign|verify|validation|verification|content|build|commit|image|layer)"
    r"[_-]?keys?[0-9]{0,2}$|^keys[0-9]*$"
)
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
NOT_HARMLESS: Final = re.compile(
    r"(?:passwords?|pass[_-]?words?|passwd|pass[_-]?phrases?|pwd|pswd|p\w{0,4}word|secret|keyword|(?:seed|wallet|recovery)[_-]?words)$"
)


class ValueShape(enum.Enum):
    """What the value after a name has to look like to be believed."""

    ANY = enum.auto()
    DIGITS = enum.auto()  # of a PIN
    WORDS = enum.auto()  # of a seed phrase, or what looks drawn by lot
    DRAWN = enum.auto()  # after `..._key`, which may be the key of a map


class KeyKind(NamedTuple):
    """What a name promises."""

    name: str
    strong: bool
    shape: ValueShape = ValueShape.ANY


class Key(NamedTuple):
    """One such name in a text; `name` is in lower case."""

    start: int
    end: int
    name: str
    kind: KeyKind


PASSWORD: Final = KeyKind("password", strong=True)
SEEDS: Final = KeyKind("secret", strong=True, shape=ValueShape.WORDS)
TOKEN: Final = KeyKind("token", strong=False)
# Names of several words, or with letters beyond ASCII; only the first of these are looked for where all is ASCII.
PHRASES: Final = Literals(
    (literal, (re.compile(pattern), kind))
    for literal, pattern, kind in (
        ("mot de passe", "mots? de passe", PASSWORD),
        ("parola d'ordine", "parola d'ordine", PASSWORD),
        ("palavra", "palavra[- ]passe", PASSWORD),
        ("pass ", "pass (?:word|phrase|code)", PASSWORD),
        ("?sig=", r"\?sig(?==)", KeyKind("token", strong=False, shape=ValueShape.DRAWN)),
        ("&sig=", "&sig(?==)", KeyKind("token", strong=False, shape=ValueShape.DRAWN)),
        ("api key", "api keys?", KeyKind("api_key", strong=False)),
        ("seed ", "seed (?:phrase|words)", SEEDS),
        ("recovery ", "recovery (?:phrase|code|key|words)", SEEDS),
        ("wallet ", "wallet (?:phrase|words|seed)", SEEDS),
    )
)
FOREIGN: Final = tuple(
    (literal, re.compile(pattern, re.IGNORECASE), kind)
    for literal, pattern, kind in (
        ("ontrase\u00f1a", "ontrase\u00f1as?", PASSWORD),
        ("has\u0142o", "has\u0142o", PASSWORD),
        ("\u015fifre", "\u015fifre", PASSWORD),
        ("\u00f6senord", "\u00f6senord", PASSWORD),
        ("\u0430\u0440\u043e\u043b", "\u0430\u0440\u043e\u043b[\u044c\u044f\u0435\u0438]?", PASSWORD),
        ("\u5bc6\u7801", "\u5bc6\u7801", PASSWORD),
        ("\u5bc6\u78bc", "\u5bc6\u78bc", PASSWORD),
        ("\u53e3\u4ee4", "\u53e3\u4ee4", PASSWORD),
        ("\u30d1\u30b9\u30ef\u30fc\u30c9", "\u30d1\u30b9\u30ef\u30fc\u30c9", PASSWORD),
        ("\ube44\ubc00\ubc88\ud638", "\ube44\ubc00\ubc88\ud638", PASSWORD),
        ("\u043a\u043b\u044e\u0447", "\u043a\u043b\u044e\u0447", TOKEN),
        ("cl\u00e9 ", "cl\u00e9 (?:secr\u00e8te|api|d'api|priv\u00e9e)", KeyKind("secret", strong=True)),
        ("hl\u00fcssel", "hl\u00fcssel", TOKEN),
        ("\u5bc6\u94a5", "\u5bc6\u94a5", TOKEN),
    )
)


def find_keys(page: Page) -> Iterator[Key]:
    for trigger, word in TRIGGERS.among(page):
        for part in page.parts:
            if word in part.words:
                yield from _named(page.shadow, trigger, part)
    for literal, (pattern, kind) in PHRASES.among(page):
        yield from (Key(*found.span(), found[0], kind) for found in page.matches(literal, pattern))
    for literal, pattern, kind in () if page.is_ascii else FOREIGN:
        for found in matches(page.text, literal, pattern):
            yield Key(_start_of_word(page.text, found.start()), found.end(), found[0].lower(), kind)


def _named(shadow: str, trigger: str, part: NewPart) -> Iterator[Key]:
    place = shadow.find(trigger, part.start, part.end)
    while place >= 0:
        key = _key(shadow, place)
        if key.kind.name:
            yield key
        place = shadow.find(trigger, max(key.end, place + 1), part.end)


def _start_of_word(text: str, place: int) -> int:
    """Return where the word begins whose first letter may be of either case; there are no spaces in Chinese."""
    return place - 1 if text[place] < "\u3000" and text[place - 1 : place].isalpha() else place


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
        return TOKEN
    if PIN.search(name):
        return KeyKind("password", strong=True, shape=ValueShape.DIGITS)
    if SEED.search(name):
        return SEEDS
    if HARMLESS.search(name) and not NOT_HARMLESS.search(name):
        return KeyKind("", strong=False)
    for kind, pattern in KINDS.items():
        if pattern.search(name):
            return KeyKind(kind, strong=True)
    if WEAK.search(name):
        return TOKEN
    is_key = KEY.search(name) and not OPEN_KEYS.search(name)
    return KeyKind("api_key" if is_key else "", strong=False, shape=ValueShape.DRAWN)
