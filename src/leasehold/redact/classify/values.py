"""What a value looks like: between quotes, up to a space, to the end of its line, the content of an element.

Only reads; where a value stands after its name is found elsewhere, and whether it is a secret is judged elsewhere.
"""

import enum
import re
from typing import Final, NamedTuple

from leasehold.redact.classify.key_names import Key
from leasehold.redact.page import Page, end_of

OPENING: Final = re.compile(
    r"[bBrRuUfFnNeE@$]{0,2}(\\{0,3}(?:\"\"\"|'''|[\"'`])|&quot;|&\#34;|%(?:25)?2[27]|\\{1,3}(?:u00|x)22)"
)
CODE_GOES_ON: Final = re.compile(r"[ \t]{0,8}(?:[,);+\]}.%]|$)")
QUOTES: Final = {
    '"': re.compile(r'(?:[^"\\\r\n]|\\.)*+'),
    "'": re.compile(r"(?:[^'\\\r\n]|\\.|''(?=[A-Za-z0-9])(?<=[A-Za-z0-9]''))*+"),  # it''s, as in SQL and YAML
    "`": re.compile(r"(?:[^`\\\r\n]|\\.)*+"),
    '"""': re.compile(r'(?:[^"\r\n]|"(?!""))*+'),
    "'''": re.compile(r"(?:[^'\r\n]|'(?!''))*+"),
    **{f"&{entity}": re.compile(rf"(?:[^&\r\n]|&(?!{entity}))*+") for entity in ("quot;", "#34;")},
    **{f"%{code}": re.compile(rf"(?:[^%\s\"']|%(?!{code}))*+") for code in ("22", "27", "2522", "2527")},
    **{code: re.compile(rf"(?:[^\\\r\n]|\\(?!\\*{code}))*+") for code in ("u0022", "x22")},
}

PLAIN_QUOTES: Final = frozenset(('"', "'", "`", '"""', "'''"))
# As in: password=SecretStr("..."), or SET PASSWORD = PASSWORD('...').
WRAPPER: Final = re.compile(
    r"[a-z_.]{0,24}(?:secretstr|secret|password|sensitive|plaintext|bytes|str|bytearray|(?:std::|new )?string)\("
    r"|!!?str "
)

LINE_HEAD: Final = re.compile(
    r"(?:[ \t]|[-+#;<>*$]|//|export |set |env |arg |setx |declare )*(?:[a-z0-9_-]{1,40}[.:]){0,6}"
)
HEAD_REACH: Final = 80
COMMENT_REACH: Final = 256
BLOCK: Final = re.compile(r"[|>][0-9+-]{0,2}[ \t]*(?:\r?\n[ \t]*([^\r\n]+)|\\{1,3}n[ \t]*([^\r\n\\\"]+))")
TIGHT: Final = re.compile(r"(?:(?![&;][A-Za-z_][A-Za-z0-9_ ]{0,40}=)\S)+")
REST_OF_LINE: Final = re.compile(r"[^\r\n]+")
COMMENT: Final = re.compile(r"[ \t]+(?:#|//|--[ \t]).*")
# A backslash belongs to a value, unless an escape starts there: this may all be a string of JSON.
# So does an ampersand or a semicolon, unless the next field, an entity or a statement starts there.
PLAIN: Final = r"[^\s\"'`,;&<>(){}\[\]|\\]"
NEXT_FIELD: Final = r"(?:amp;)?[A-Za-z_][A-Za-z0-9_. %-]{0,40}=|(?:[a-z]{2,6}|#[0-9a-fx]{2,6});"
INLINE: Final = re.compile(
    rf"(?:{PLAIN}|\\(?![nrtu\"'\\])|&(?={PLAIN})(?!{NEXT_FIELD})|;(?={PLAIN}{{0,40}}[0-9])(?!{NEXT_FIELD}))+"
)
ENCODED: Final = re.compile(r"(?:[^\s\"'`,;&<>(){}\[\]|\\%]|%(?!26))+")
ARGUMENT: Final = re.compile(r"(?:[^\s\"'`|;&<>\\]|\\(?![nrtu\"'\\]))+")
CONTENT: Final = re.compile(r"(?:[^<\]\r\n]|\](?!\]>))++(?=</|\]\]>|\r|\n|$)")
ALPHABETIC: Final = re.compile(r"[A-Za-z_-]+")


class Way(enum.Enum):
    """How a value can stand after its name."""

    QUOTED = enum.auto()
    CONTENT = enum.auto()  # <name>value</name>
    ARGUMENT = enum.auto()  # --name value
    TIGHT = enum.auto()  # name=value, opening its line
    LINE = enum.auto()  # name = value, to the end of the line
    FIELD = enum.auto()  # name: value, to the end of the line
    INLINE = enum.auto()  # name=value amid other text
    REMARK = enum.auto()  # name: value amid other text
    CODE = enum.auto()  # a, name = value
    GUESSED = enum.auto()  # name("value"), "value" == name: quoted, but not always the value of the name


class FoundValue(NamedTuple):
    """What follows a name, and how."""

    start: int
    end: int
    way: Way


def quoted(text: str, start: int) -> FoundValue | None:
    """Return what is between the quotes that open here; without a closing one, up to the end of the line."""
    if not (opening := OPENING.match(text, start)):
        return None
    first = opening.end()
    bare = opening[1].lstrip("\\")
    closing = _escaped(opening[1]) if bare != opening[1] and bare in PLAIN_QUOTES else QUOTES[bare]
    return FoundValue(first, end_of(closing, text, first), Way.QUOTED)


def _escaped(opening: str) -> re.Pattern[str]:
    """Return the pattern up to an escaped quote: text inside a JSON string."""
    quote = re.escape(opening[-1])
    return re.compile(rf"(?:[^\\{quote}\r\n]|\\(?!\\*{quote}))*+")


def bare(text: str, start: int, pattern: re.Pattern[str], way: Way) -> FoundValue | None:
    found = pattern.match(text, start)
    return FoundValue(start, found.end(), way) if found else None


def without_comment(rest: str) -> str:
    if rest.startswith("# "):
        return ""
    found = COMMENT.search(rest, 0, COMMENT_REACH)
    return (rest[: found.start()] if found else rest).rstrip()


def opens_its_line(page: Page, key: Key) -> bool:
    """Return whether nothing but margins, indentation and a prefix stands before the name on its line."""
    line_start = page.shadow.rfind("\n", max(0, key.start - HEAD_REACH), key.start) + 1
    if line_start == 0 and key.start > HEAD_REACH:
        return False
    return LINE_HEAD.fullmatch(page.shadow, line_start, key.start) is not None
