"""Values that stand before or after a name in a sentence or a comparison: `use hunter2 as the password`.

Only reads, as `values` does; whether what stands there is a secret is judged elsewhere.
"""

import re
from typing import Final

from leasehold.redact.classify.key_names import Key, ValueShape

# What may stand between a name and its value: ` is `, ` lautet `, ` de bob est `, `: `, in some languages.
COPULAS: Final = (
    "is", "was", "are", "now", "to", "equals", "will", "be", "has", "been", "have", "shall", "set", "changed",
    "reset", "being", "ist", "lautet", "war", "wird", "jetzt", "est", "sera", "\u00e9tait", "es", "era",
    "ser\u00e1", "\u00e9", "foi", "\u00e8", "sar\u00e0", "e'", "luidt", "wordt", "als", "comme", "jest",
    "\u00e4r",
)  # fmt: skip
FOR_WORDS: Final = ("for", "of", "f\u00fcr", "von", "pour", "de", "para", "per", "di", "voor", "van")
FOR: Final = rf"(?:[ \t](?:{'|'.join(FOR_WORDS)})[ \t](?:\S{{1,64}}[ \t]){{0,2}}?\S{{1,64}}(?<!:))?"
COPULA: Final = "|".join(COPULAS)
STATED: Final = re.compile(
    rf"(?:{FOR}(?:[ \t]{{1,4}}(?:{COPULA})(?=[ \t:])){{1,4}}[: \t]{{1,6}}"
    rf"|{FOR}[ \t]{{0,2}}(?:->|\||-|\u2014|\u2013|\uff1a|=)[ \t]{{0,4}}"
    rf"|{FOR}[ \t]{{0,2}}:[ \t]{{1,4}}|[ \t]{{0,2}}(?:\u662f|\u306f|\u70ba|\u4e3a|\ub294|\uff1a)[ \t:\uff1a]{{0,3}}"
    r"|[ \t]\()",
    re.IGNORECASE,
)
STATED_REACH: Final = 16
STATED_SIGNS: Final = frozenset("-|(=:\u2014\u2013\uff1a\u662f\u306f\u70ba\u4e3a\ub294")
STATED_WORDS: Final = frozenset((*COPULAS, *FOR_WORDS))
VALUE: Final = (
    r"(?!(?i:base64|base32|sha-?[0-9]|md5|utf-?[0-9]|rfc|https?|[0-9]+[ -][a-z]))"
    r"(?=[^\s0-9]{0,64}[0-9])(?=\S{0,64}[A-Za-z])[^\s\"'`(,\\<>\u3002\u3067]{6,128}(?<![.;:)])"
)
STATED_VALUE: Final = re.compile(VALUE)
STATED_QUOTE: Final = re.compile(r"[\"'`\u00ab\u201c\u201e](?=[^\s\"'`]{4,128}[\"'`\u00bb\u201d])")
SHAPED: Final = {ValueShape.DIGITS: re.compile(r"[0-9]{4,12}"), ValueShape.WORDS: re.compile(r"[A-Za-z0-9, -]{8,300}")}

# Use ... as the password; ... is the password: the words between a value and the name after it.
LINKS: Final = frozenset((
    "as", "is", "als", "ist", "comme", "est", "como", "es", "come", "\u00e8", "\u00e9", "jako", "som",
))  # fmt: skip
ARTICLES: Final = frozenset((
    "the", "a", "an", "your", "my", "our", "his", "her", "its", "their", "new", "current", "initial",
    "temporary", "admin", "root", "das", "dein", "ihr", "mein", "le", "la", "ton", "votre", "mon", "el", "tu",
    "su", "mi", "o", "sua", "minha", "il", "tua", "het", "uw", "je", "api", "access", "login", "default",
))  # fmt: skip
LAST_WORDS: Final = LINKS | ARTICLES
BEFORE_REACH: Final = 240
BEFORE_WORDS: Final = 6
REVERSED_VALUE: Final = re.compile(rf"[\"'`]?({VALUE})[\"'`]?")
COMPARES: Final = re.compile(r"[ ]{0,2}(?:[!=]={1,2}|eq|\.equals\()[ ]{0,2}(?:[\w$]{1,40}(?:\.|->|::)){0,4}[$@]?")
COMPARISON_ENDS: Final = ("= ", "=", "=$", "= $", "eq ", "(", ".", ">", "eq $", "= @")
COMPARED_REACH: Final = 220


def stated(text: str, key: Key) -> tuple[int, int] | None:
    """Return where the value stands that a sentence begins the name has: `... is hunter2`."""
    if not (_may_state(text, key.end) and (begins := STATED.match(text, key.end))):
        return None
    if shaped := SHAPED.get(key.kind.shape):
        found = shaped.match(text, begins.end())
        return found.span() if found else None
    quote = STATED_QUOTE.match(text, begins.end())
    found = STATED_VALUE.match(text, quote.end() if quote else begins.end())
    return found.span() if found else None


def _may_state(text: str, end: int) -> bool:
    """Whether the next word is one of those that a statement begins with; most names are followed by another."""
    words = text[end : end + STATED_REACH].split(None, 1)
    return bool(words) and (words[0][0] in STATED_SIGNS or words[0].rstrip(":").lower() in STATED_WORDS)


def stated_before(text: str, start: int) -> tuple[int, int] | None:
    """Return where the value stands that a sentence gives before the name: `use hunter2 as the ...`."""
    if text[start - 1 : start] != " " or text[start - 12 : start - 1].rpartition(" ")[2].lower() not in LAST_WORDS:
        return None
    first = max(text.rfind("\n", max(0, start - BEFORE_REACH), start) + 1, start - BEFORE_REACH, 0)
    words = text[first:start].rsplit(None, BEFORE_WORDS)
    while words and words[-1].lower() in ARTICLES:
        words.pop()
    if len(words) < 2 or words[-1].lower() not in LINKS:  # noqa: PLR2004 - a value and a link
        return None
    place = text.rfind(words[-2], first, start)
    found = REVERSED_VALUE.match(text, place)
    return found.span(1) if found and found.end() == place + len(words[-2]) else None


def compared(text: str, start: int) -> tuple[int, int] | None:
    """Return where the value stands that a name is compared with: `"hunter2" == ...`."""
    if not text.endswith(COMPARISON_ENDS, max(0, start - 4), start):
        return None
    first = max(0, start - COMPARED_REACH)
    close = max(text.rfind(quote, first, start) for quote in "\"'`")
    opening = text.rfind(text[close], first, close) if close > first else -1
    if opening < 0 or "\n" in text[opening:start] or not COMPARES.fullmatch(text, close + 1, start):
        return None
    return (opening + 1, close)
