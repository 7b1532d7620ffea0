"""Passwords, secrets and keys that are assigned to a key name, in code, in configuration and on command lines.

Only the value is hidden: quotes, separators and everything around it stay, so JSON stays JSON and YAML stays YAML.
A long value is never judged harmless; that is what keeps the work on a hostile text linear.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from leasehold.redact.classify.drawn import is_drawn
from leasehold.redact.classify.key_names import Key, ValueShape
from leasehold.redact.classify.not_secret import (
    SEALED,
    SERVICES,
    STOP_WORDS,
    is_annotation,
    is_expression,
    is_label,
    is_listed_secret,
    is_path,
    is_prompt,
    is_prose,
    is_reference,
    is_stand_in,
)
from leasehold.redact.classify.notations import value_after, value_before
from leasehold.redact.classify.values import ALPHABETIC, FoundValue, Way, quoted
from leasehold.redact.page import Page
from leasehold.redact.text import MASK, Span

LENGTH_JUDGED_MAX: Final = 256
QUOTED_LENGTH_MIN: Final = 3
WEAK_LENGTH_MIN: Final = 8
CREDENTIAL: Final = re.compile(r"[A-Za-z0-9_.+/=~:%|!@$^*-]+")
SHORT_NUMBER: Final = re.compile(r"[-+0-9.,]{1,3}[,;)]*|[0-9.]{1,5}[smhdkKMG]B?[,;)]*")
OWN_ATTRIBUTE: Final = ("self.", "this.", "cls.", "->")
CALLED: Final = re.compile(r"[(\[]")
SPACE: Final = re.compile(r"\s")
SHAPES: Final = {
    ValueShape.DIGITS: re.compile(r"[0-9]{4,12}"),
    ValueShape.WORDS: re.compile(r"(?:[a-z]{3,8}[ ,]{1,2}){8,23}[a-z]{3,8}|[A-Za-z0-9]{4,8}(?:-[A-Za-z0-9]{4,8}){1,7}"),
}
IDENTITY: Final = re.compile(r"[0-9a-fA-F]{32,}|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}")
LOGIN: Final = re.compile(r"[^\s:]{1,64}:[^\s:]{4,}")
# A plan prints the old value and the new one: password = "old" -> "new".
ARROW: Final = re.compile(r"\\{0,3}[\"'][ \t]{1,4}[-=]>[ \t]{1,4}(?=\\{0,3}[\"'])")
PRINTED: Final = re.compile(r"\{(?:[^{}()\r\n]{0,80}[,\s])?\Z|(?<![\w.])[(\[]\Z")
PRINTED_REACH: Final = 84
NEXT_SETTING: Final = re.compile(r",[A-Za-z_][\w.-]{0,40}=[^=\s]")  # code has a space there
CODE_FOLLOWS: Final = re.compile(r"[ \t]{0,8}[,)(.\[{=]")


def find_assignments(page: Page, keys: Sequence[Key]) -> Iterator[Span]:
    """Yield the values that are assigned to names that announce a secret."""
    done = 0
    for key in keys:
        if key.start < done:
            continue
        value = value_after(page, key)
        if value is None or value.start == value.end:
            value = value_before(page, key)
        if value and value.start < value.end and _is_secret(page.text, key, value):
            done = value.end
            yield Span(value.start, value.end, key.kind.name)
            arrow = ARROW.match(page.text, value.end) if value.way is Way.QUOTED else None
            if changed := quoted(page.text, arrow.end()) if arrow else None:
                done = changed.end
                yield Span(changed.start, changed.end, key.kind.name)


def _is_secret(text: str, key: Key, value: FoundValue) -> bool:
    content = text[value.start : value.end]
    if SEALED.fullmatch(content) or (key.name == "passwd" and SERVICES.fullmatch(content[:LENGTH_JUDGED_MAX].strip())):
        return False
    if len(content) > LENGTH_JUDGED_MAX:
        believed = key.kind.strong or value.way is not Way.QUOTED or CREDENTIAL.fullmatch(content) is not None
        return believed and bool(content.strip(MASK))
    # The path of a file that holds the secret is none; a password rarely starts with a slash.
    is_place = is_path(content) and (key.kind.name != "password" or content[0] in "/~.")
    if is_stand_in(content) or is_place:
        return False
    if key.kind.shape is not ValueShape.ANY and not _has_shape(text, key, content):
        return False
    if not key.kind.strong:
        return _looks_like_a_credential(content, key.name, value.way)
    if value.way is Way.GUESSED:
        return not SPACE.search(content) and is_listed_secret(content, key.name)
    if value.way in {Way.QUOTED, Way.CONTENT}:
        return len(content) >= QUOTED_LENGTH_MIN and not is_prompt(content, key.name)
    return _is_bare_secret(text, key, value, content)


def _has_shape(text: str, key: Key, content: str) -> bool:
    """Whether a value looks as what its name announces has to: a PIN, a phrase of words, something drawn by lot."""
    word = content.strip(" \t,;.)'\"")
    if key.kind.shape is not ValueShape.DRAWN:
        return SHAPES[key.kind.shape].fullmatch(word) is not None or (
            key.kind.shape is ValueShape.WORDS and is_drawn(word)
        )
    is_bare = key.name in {"key", "keys"}
    if text.endswith("::", 0, key.start):  # the name of a kind
        return False
    is_parameter = text[key.start - 1 : key.start] in {"?", "&"}
    return is_drawn(word) and (not is_bare or is_parameter or not IDENTITY.fullmatch(word))


def _looks_like_a_credential(content: str, name: str, way: Way) -> bool:
    content = content.partition("&")[0]
    if len(content) < WEAK_LENGTH_MIN or not CREDENTIAL.fullmatch(content):
        return False
    if name.endswith(("basic_auth", "basicauth", "basic-auth")) and LOGIN.fullmatch(content):
        return True
    if way is not Way.QUOTED and (is_expression(content, in_code=True) or is_reference(content, in_code=True)):
        return False
    return any(map(str.isdigit, content)) and any(map(str.isalpha, content))


def _is_bare_secret(text: str, key: Key, value: FoundValue, content: str) -> bool:
    word = content.rstrip(",;)")
    in_code = word != content or value.way in {Way.LINE, Way.INLINE, Way.CODE, Way.REMARK}
    if is_expression(content, in_code=in_code) or SHORT_NUMBER.fullmatch(content):
        return False
    if value.way is Way.ARGUMENT or (value.way is Way.TIGHT and text[key.start : key.end].isupper()):
        return not content.startswith("-") and content.lower() not in STOP_WORDS
    if content[0] in "([{" or is_stand_in(word) or is_annotation(word) or is_prompt(word, key.name):
        return False
    if is_reference(word, in_code=in_code):
        return False
    if value.way in {Way.LINE, Way.FIELD}:
        return not is_prose(content) and not text.endswith(OWN_ATTRIBUTE, max(0, key.start - 5), key.start)
    return _is_secret_amid_text(text, key, value, word)


def _is_secret_amid_text(text: str, key: Key, value: FoundValue, word: str) -> bool:
    """Amid other text a word of letters only is often no value; one with a digit or a sign in it nearly always is."""
    if not ALPHABETIC.fullmatch(word):
        return not CALLED.match(text, value.end) and not (value.way is Way.REMARK and word.endswith(":"))
    if _is_in_braces(text, key, value) and not is_label(word):
        return True
    if value.way is Way.REMARK:
        ends = text[value.end : value.end + 1]
        is_header = "-" in key.name and ends in {"'", '"'} and text[key.start - 1 : key.start] == ends
        return is_header or ends in {"", "\r", "\n"}
    if value.way is Way.TIGHT and text.startswith(";", value.start + len(word)):
        return not is_label(word)
    if value.way is Way.INLINE and NEXT_SETTING.match(text, value.end):
        return not is_label(word)
    is_argument = value.start + len(word) < value.end or CODE_FOLLOWS.match(text, value.end)
    return value.way is not Way.CODE and not is_argument


def _is_in_braces(text: str, key: Key, value: FoundValue) -> bool:
    """Whether this is a printed `{password=word, user=bob}` or `(password=word)`, not a call or an object in code."""
    if value.way is Way.REMARK and not text[key.start : key.end].isupper():
        return False
    return PRINTED.search(text, max(0, key.start - PRINTED_REACH), key.start) is not None
