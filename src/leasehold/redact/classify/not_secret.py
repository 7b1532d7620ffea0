"""What stands where a secret could stand and is none: references, prompts, types, blanks, words of a manual."""

import re
from typing import Final

from leasehold.redact.text import MASK

STAND_IN_LENGTH_MAX: Final = 128  # a longer value is never taken for one
LENGTH_MAX: Final = 256
LABEL_LENGTH_MIN: Final = 5
LISTED_LENGTH_MIN: Final = 3
WORD_LENGTH_MIN: Final = 4  # a shorter one is no password, not even a bad one
AROUND_STEM_MAX: Final = 2  # new_password is another variable, topsecret is somebody's password

STEM: Final = r"(?:pass|pwd|secret|token|key|cred|auth)"
# ${VAR}, $VAR, $(cmd), {{ name }}, {name}, %(name)s, %s, %VAR%, <your-password>, and placeholders already written.
INTERPOLATION: Final = re.compile(
    r"\$\{[^{}]{0,100}\}|\$\([^()]{0,100}\)|\{\{[^{}]{0,100}\}\}|\{[A-Za-z0-9_.!:\[\]\"'() ]{0,100}\}"
    r"|\$(?:env:)?[A-Z_][A-Z0-9_]{0,60}(?![A-Za-z0-9])"
    rf"|\$(?:env:)?[A-Za-z_]{{0,30}}{STEM}[A-Za-z_]{{0,30}}(?![A-Za-z0-9])"
    r"|%\([A-Za-z0-9_]{0,40}\)[sdr]|%[sdrv](?![A-Za-z0-9])|%[A-Za-z_][A-Za-z0-9_]{0,40}%"
    rf"|<[^<>]{{0,100}}>|{MASK}+"
)
# What SOPS has encrypted, and the services of /etc/nsswitch.conf.
SEALED: Final = re.compile(
    r"[\"']?ENC\[AES256_GCM,data:[A-Za-z0-9+/=]*+(?:,(?:iv|tag):[A-Za-z0-9+/=]*+){2},type:\w{1,9}\][\"']?"
)
SERVICES: Final = re.compile(
    r"(?:(?:files|compat|sss|ldap|nis|nisplus|db|systemd|winbind|cache|altfiles|hesiod|extrausers)(?:[ \t]+|$))+"
)
FILLER: Final = re.compile(r"[*.•#?_: -]*|[xX]{3,}|[^A-Za-z0-9]{0,2}")
NOTHING: Final = re.compile(
    r"none|null|nil|true|false|undefined|nan|n/?a|empty|required|optional|yes|no|on|off|default|unset|inherit|redacted"
    r"|hidden",
    re.IGNORECASE,
)
PROMPT_STEMS: Final = ("pass", "pwd", "secret", "token", "key", "credential")
PROMPT_WORDS: Final = frozenset((
    "enter", "please", "your", "invalid", "wrong", "confirm", "new", "old", "repeat", "current", "forgot", "reset",
    "missing", "bad", "incorrect", "the", "a", "no", "change", "choose", "type", "provide", "user", "set", "show",
    "password", "passphrase", "secret", "token", "api",
))  # fmt: skip
TYPES: Final = frozenset((
    "str", "bytes", "int", "bool", "float", "object", "string", "number", "boolean", "any", "dict", "list", "tuple",
    "set", "optional", "union", "literal", "bytearray", "buffer", "char", "varchar", "text", "array", "unknown",
    "never", "void", "callable", "type", "self", "secretstr", "password", "readonly", "token", "secret", "credentials",
))  # fmt: skip
REFERENCES: Final = frozenset((
    "value", "values", "val", "data", "line", "text", "name", "input", "entry", "result", "results", "args", "kwargs",
    "config", "settings", "env", "environ", "match", "item", "next", "prev", "other", "obj", "row", "field", "param",
    "params", "arg", "opt", "options", "request", "response", "self", "this", "cls", "new", "old", "tmp", "temp", "buf",
    "string", "ret", "res", "await", "yield", "lambda", "not", "if", "else", "for", "in", "is", "and", "or", "return",
    "raise", "import", "from", "function", "async", "struct", "enum", "const", "var", "let", "def", "class", "nonce",
    "f", "s", "p", "x", "b", "c", "h", "k", "v", "m", "d",
))  # fmt: skip
STOP_WORDS: Final = frozenset((
    "the", "a", "an", "is", "are", "was", "of", "to", "for", "must", "should", "be", "been", "not", "or", "and", "in",
    "if", "with", "this", "that", "your", "it", "on", "as", "by", "from", "will", "can", "may", "when", "used", "has",
    "option", "options", "flag", "flags", "argument", "arguments", "parameter", "instead",
))  # fmt: skip
# Words that name a field, a kind of thing or a state, where a password could stand in a list or a pair.
LABELS: Final = frozenset((
    "username", "user", "users", "login", "email", "mail", "host", "hostname", "port", "database", "name", "url", "uri",
    "path", "file", "realm", "account", "server", "service", "method", "digest", "basic", "bearer", "header", "headers",
    "query", "body", "cookie", "cookies", "session", "plain", "prompt", "message", "stack", "address", "domain", "code",
    "secure", "insecure", "public", "private", "local", "remote", "generic", "opaque", "enabled", "disabled", "invalid",
    "missing", "expired", "unknown", "description", "example", "placeholder", "label", "title", "display", "yes",
    "autocomplete", "sha", "read", "write", "delete", "create", "update", "list", "get", "post", "put",
))  # fmt: skip
ALPHABETIC: Final = re.compile(r"[A-Za-z_-]+")
IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
ANY_STEM: Final = re.compile(rf"{STEM}|login|user", re.IGNORECASE)
JOINED: Final = re.compile(r"_|[a-z][A-Z]")
DECLARED: Final = re.compile(r"[ \t]*(?:[|,=)\[;]|$)")
CHAIN: Final = re.compile(r"(?:[A-Za-z_$][A-Za-z0-9_$]*(?:\?\.|\.|::|->))+[A-Za-z_$][A-Za-z0-9_$]*[,;)]*")
ROOT: Final = re.compile(
    r"(?:self|this|cls|config|conf|settings|env|process|os|args|opts|options|request|req|app|secrets|var|local|module"
    r"|params|props|state|data|input|ctx|context|current_app|cfg)(?:\?\.|\.|::|->)"
)
CALL: Final = re.compile(
    r"(?:await\s+|new\s+|not\s+|&|\*)?[A-Za-z_$][A-Za-z0-9_$.:>-]*[(\[{](?:$|[^\r\n]*[)\]}]|[^)\]}]*[,(\[{]$)"
)
OPERATION: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$.]*\s+(?:[-+*/%|&?<>=]{1,3}|or|and|if|in|is|not|else|as)\s")
SOURCE: Final = re.compile(
    r"\$[({]|os\.|process\.env|env[.:\[]|vault:|arn:|ssm:|secretsmanager|projects/|ENC\[|![A-Za-z]", re.IGNORECASE
)
PATH: Final = re.compile(
    r"(?:[A-Za-z]:\\|~?/|\.{1,2}/)?(?:[A-Za-z0-9_.-]{1,60}[/\\]){1,12}[A-Za-z0-9_.-]{0,60}\.[a-z]{2,5}"
    r"|(?:~|\.{1,2})?(?:/[a-z._-]{2,40}){2,}/?"
)


def is_stand_in(value: str) -> bool:
    """Distinguish what only marks the place of a secret: nothing, asterisks, a variable to be filled in."""
    if len(value) > STAND_IN_LENGTH_MAX:
        return not value.strip(MASK)
    rest = INTERPOLATION.sub("", value) if any(sign in value for sign in f"$%{{<{MASK}") else value
    return FILLER.fullmatch(rest) is not None or NOTHING.fullmatch(rest.strip()) is not None


def is_prompt(value: str, name: str) -> bool:
    """Distinguish a label or a question from an answer: `Enter your password:`, or the name of the field itself."""
    if len(value) > LENGTH_MAX:
        return False
    lowered = value.lower().strip()
    if " " not in lowered and not lowered.endswith(":"):
        plain = lowered.strip(":*").replace("-", "_")
        return len(plain) >= LABEL_LENGTH_MIN and name.strip("-_").replace("-", "_").endswith(plain)
    asks = lowered.endswith((":", "?", ".", "!")) or lowered.partition(" ")[0] in PROMPT_WORDS
    return asks and any(stem in lowered for stem in PROMPT_STEMS)


def is_prose(value: str) -> bool:
    """Distinguish a sentence of a manual: several words, some of them those that only sentences have."""
    if len(value) > LENGTH_MAX or " " not in value:
        return False
    return not STOP_WORDS.isdisjoint(value.lower().replace(",", " ").split())


def is_expression(value: str, *, in_code: bool) -> bool:
    """Distinguish code that fetches a value from a value: a call, an attribute, an index, an environment variable."""
    head = value[:LENGTH_MAX]
    if SOURCE.match(head) or CALL.match(head) or (in_code and OPERATION.match(head)):
        return True
    if not CHAIN.fullmatch(head):
        return False
    return bool(ROOT.match(head) or ANY_STEM.search(head)) or (in_code and not any(map(str.isdigit, head)))


def is_annotation(value: str) -> bool:
    """Distinguish the type of a field, alone or with what else the line declares: `str | None = None`."""
    if (found := IDENTIFIER.match(value)) is None:
        return False
    known = found[0].lower() in TYPES and DECLARED.match(value, found.end())
    return bool(known) or value.startswith((" | None", " | undefined"), found.end())


def is_path(value: str) -> bool:
    return len(value) <= LENGTH_MAX and PATH.fullmatch(value) is not None


def is_reference(value: str, *, in_code: bool) -> bool:
    """Distinguish an identifier that names another variable, or a type, from a bare word that is the secret itself."""
    if not IDENTIFIER.fullmatch(value[:STAND_IN_LENGTH_MAX]):
        return False
    if value.lower() in TYPES or value.lower() in REFERENCES:
        return True
    if not in_code or not ANY_STEM.search(value) or any(map(str.isdigit, value)):
        return False
    return JOINED.search(value) is not None or len(ANY_STEM.sub("", value)) <= AROUND_STEM_MAX


def is_label(word: str) -> bool:
    """Distinguish a word that names a field or another secret (`db_password`, `username`) from one that is a secret."""
    lowered = word.lower()
    if len(word) < WORD_LENGTH_MIN or any(lowered in known for known in (LABELS, TYPES, REFERENCES, STOP_WORDS)):
        return True
    if not ANY_STEM.search(word):
        return "_" in word.strip("_") or word.count("-") > 1 or (word.isupper() and len(word) < LABEL_LENGTH_MIN)
    return "-" in word or JOINED.search(word) is not None or len(ANY_STEM.sub("", word)) <= AROUND_STEM_MAX + 2


def is_listed_secret(content: str, name: str) -> bool:
    """Distinguish a secret from the name of one, of a field or of a file."""
    if len(content) > LENGTH_MAX:
        return not is_stand_in(content)
    if len(content) < LISTED_LENGTH_MIN or is_stand_in(content) or is_path(content) or is_prompt(content, name):
        return False
    return not (ALPHABETIC.fullmatch(content) and is_label(content))
