"""Where the value of an assignment stands: between quotes, up to a space, to the end of its line, inside an element.

Only reads, in many notations; whether what stands there is a secret is judged elsewhere.
"""

import enum
import re
from typing import Final, NamedTuple

from leasehold.redact.classify.key_names import Key
from leasehold.redact.classify.not_secret import is_label
from leasehold.redact.text import Page, end_of

AFTER: Final = re.compile(
    r"""(?P<close>(?:\\{0,3}["'`]|&quot;|&\#34;|%(?:25)?2[27]|\\{1,3}(?:u00|x)22)?(?:%5b)?(?:\]|%5d)?)[ \t]{0,8}(?:
      (?P<typed>:[ ]?&?[a-z_][a-z0-9_.\[\]|, ]{0,60}?[ ]=[ ])               # password: str = "..."
    | (?P<declared>(?:as[ ])?[a-z_][a-z0-9_.()]{0,40}[ ](?:=|default)[ ](?=[bnrue]?["'`]))   # password string = "..."
    | (?P<pair>(?:,?(?:[ \t\r\n]|\\{1,3}[nr]){1,80}\\{0,3}["']?|,\\{0,3}["'])
      (?:parameter)?value\\{0,3}["']?[ \t]{0,4}[:=][ \t]{0,4})
                                                                          # name: PASSWORD, value: ...
    | (?P<later>,[^{}\[\]]{1,160}?["']value\\{0,3}["'][ \t]{0,4}:[ \t]{0,4})   # "name": "PASSWORD", ..., "value": ...
    | (?P<variable>\{[^{}]{0,400}?\bdefault[ \t]{0,16}=[ \t]{0,4})            # variable "password" { default = ... }
    | (?P<attribute>(?:[ ]?[a-z:-]{1,20}=["'][^"'<>\r\n]{0,40}["'][ ]){0,3}value=(?=["']))  # <input ...>
    | (?P<part>(?:\r?\n[a-z-]{4,40}:[^\r\n]{0,80}){0,2}(?:\r?\n){2})        # of a form: name="password"
    | (?P<sign><-(?=[ ]?["'])|:=|=>|={1,3}|!={1,2}|\?=|:(?!:)|%(?:25)?3[ad])(?:%(?:25)?20|\+(?=%22))?
      (?P<room>[ \t]{0,8}\r?\n[ \t]{0,40}(?=\\{0,3}["'])|[ \t]{0,8})
    | (?P<comma>,)[ \t]{0,8}                                              # setenv("PASSWORD", "...")
    | (?P<element>(?:(?<=["'])[ ][^<>\r\n]{1,80}|[a-z:]{1,20}=["'][^<>\r\n]{1,120})?>(?:<!\[cdata\[)?)
                                                                          # <password>...</password>
    | (?P<plist></key>[ \t\r\n]{0,40}<string>)
    | (?P<call>\()                                                        # setPassword("...")
    )""",
    re.VERBOSE,
)
COMPARISONS: Final = frozenset(("==", "===", "!=", "!=="))
SPACE: Final = re.compile(r"[ \t]")
GAP: Final = re.compile(r"[ \t]{1,4}")
SETTINGS: Final = frozenset(("requirepass", "bindpw"))  # of Redis and LDAP: the value follows and ends the line
SPOKEN: Final = ("password", "passwd", "passphrase")  # PASSWORD 'hunter2' in SQL, password hunter2 in .netrc
LAST_OF_LINE: Final = re.compile(r"(?=[^\s0-9]{0,64}[0-9])[^\s\"'`=:(,\\]+(?=[ \t]*(?:[\r\n\\\"';]|$))")
SETTING: Final = re.compile(r"[^\s\"'`]+(?=[ \t]*(?:[\r\n]|$))")
# Your password is ..., Password for bob: ..., password -> ...
STATED: Final = re.compile(
    r"(?:(?:is|was|to)[ \t]{1,4}(?:now[ \t])?|is:[ \t]{0,4}|(?:->|\|)[ \t]{0,4}|for[ \t]\S{1,64}(?<=:)[ \t]{1,4})"
)
STATED_VALUE: Final = re.compile(
    r"(?!(?i:base64|base32|sha-?[0-9]|md5|utf-?[0-9]|rfc|http|[0-9]+[ -][a-z]))"
    r"(?=[^\s0-9]{0,64}[0-9])(?=\S{0,64}[A-Za-z])[^\s\"'`(,\\<>]{6,128}(?<![.;:])"
)
KIND_DIGIT: Final = re.compile(r"[0-9] (?=\S)")  # network devices put the encoding of the password before it

OPENING: Final = re.compile(
    r"[bBrRuUfFnNeE]{0,2}(\\{0,3}(?:\"\"\"|'''|[\"'`])|&quot;|&\#34;|%(?:25)?2[27]|\\{1,3}(?:u00|x)22)"
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
WRAPPER: Final = re.compile(r"[a-z_.]{0,24}(?:secretstr|secret|password|sensitive|plaintext|bytes|str|bytearray)\(")

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
ELEMENT: Final = re.compile(r"<[\w:.-]{0,40}(?:\s[^<>]{0,80})?(?<=[\s<])(?:name|key)=\\{0,3}[\"']\Z|<[\w:.-]{0,40}\Z")
ELEMENT_REACH: Final = 140
# As in: setattr(self, "password", "hunter2"), or config.set("smtp", "password", "hunter2").
SETTER: Final = re.compile(r"(?:set|put|setattr|setattr__)\([^()\r\n]{1,60},[ ]?[\"']$")
SETTER_REACH: Final = 80
PAIR_OPENS: Final = re.compile(r"[(\[][ \t]{0,4}[bru]?\\{0,3}[\"'`]\Z")
PAIR_CLOSES: Final = re.compile(r"\\{0,3}[\"'`][ \t]{0,4},?[ \t]{0,4}[)\]]")
PAIR_REACH: Final = 12
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


class FoundValue(NamedTuple):
    """What follows a name, and how."""

    start: int
    end: int
    way: Way


def value_after(page: Page, key: Key) -> FoundValue | None:
    """Return the value that the name announces, if anything stands where a value can."""
    if not (after := AFTER.match(page.shadow, key.end)):
        return _spoken(page, key)
    start = after.end()
    if "\n" in (after["room"] or "") and not after["close"]:
        return None
    if after["call"]:
        is_setter = key.name.startswith(("set", "with")) or page.text[key.start : key.end] == "PASSWORD"
        return quoted(page.text, start) if is_setter else None
    if after["comma"]:
        return _next_item(page.text, key, start) if after["close"] else None
    if after["plist"]:
        return _bare(page.text, start, CONTENT, Way.CONTENT) if page.shadow.endswith("<key>", 0, key.start) else None
    return _element(page, key, start) if after["element"] else _assigned(page, key, after)


def _assigned(page: Page, key: Key, after: re.Match[str]) -> FoundValue | None:
    start = after.end()
    if after["later"] or after["variable"] or after["attribute"]:
        return quoted(page.text, start) if after["close"] or after["attribute"] else None
    if after["part"] is not None:
        is_named = after["close"] and page.shadow.endswith('name="', 0, key.start)
        return _bare(page.text, start, REST_OF_LINE, Way.CONTENT) if is_named else None
    if value := quoted(page.text, start):
        return None if _was_closing(page.text, key, value, after) else value
    wrapper = WRAPPER.match(page.shadow, start)
    if wrapper and (value := quoted(page.text, wrapper.end())):
        return value
    return None if after["sign"] in COMPARISONS else _unquoted(page, key, after)


def _spoken(page: Page, key: Key) -> FoundValue | None:
    """Return what follows after nothing but a space: on command lines, in SQL, in .netrc and in a sentence."""
    gap = GAP.match(page.shadow, key.end)
    is_option = key.name.startswith("--")
    if gap and key.name in SETTINGS:
        return _bare(page.text, gap.end(), SETTING, Way.ARGUMENT)
    if not gap or not (is_option or key.name.endswith(SPOKEN)):
        return None
    if value := quoted(page.text, gap.end()):
        return value if is_option or not SPACE.search(page.text, value.start, value.end) else None
    if is_option:
        return _bare(page.text, gap.end(), ARGUMENT, Way.ARGUMENT)
    if key.name not in SPOKEN:
        return None
    if stated := STATED.match(page.shadow, gap.end()):
        return _bare(page.text, stated.end(), STATED_VALUE, Way.ARGUMENT)
    return _bare(page.text, end_of(KIND_DIGIT, page.text, gap.end()), LAST_OF_LINE, Way.ARGUMENT)


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


def _was_closing(text: str, key: Key, value: FoundValue, after: re.Match[str]) -> bool:
    """Distinguish the quote that ends `'Password: '` from one that opens a value."""
    if after["close"] or after["sign"] != ":":
        return False
    return text[key.start - 1 : key.start] == text[value.start - 1] or bool(CODE_GOES_ON.match(text, value.start))


def _next_item(text: str, key: Key, start: int) -> FoundValue | None:
    """Return the item after the name in `("PASSWORD", "hunter2")` or `["--password", "hunter2"]`, not in any list."""
    value = quoted(text, start)
    if value is None or key.name.startswith("--") or SETTER.search(text, max(0, key.start - SETTER_REACH), key.start):
        return value
    if not PAIR_OPENS.search(text, max(0, key.start - PAIR_REACH), key.start):
        return None
    if not ALPHABETIC.fullmatch(text, value.start, value.end):
        return value
    is_whole = key.kind.strong and PAIR_CLOSES.match(text, value.end)
    return value if is_whole and not is_label(text[value.start : value.end]) else None


def _element(page: Page, key: Key, start: int) -> FoundValue | None:
    opens = ELEMENT.search(page.shadow, max(0, key.start - ELEMENT_REACH), key.start)
    value = _bare(page.text, start, CONTENT, Way.CONTENT) if opens else None
    # Without its closing tag it may be cut off, but then it fills its line; else `<password>` only marks a place.
    is_closed = value is not None and page.text.startswith(("</", "]]>"), value.end)
    return value if is_closed or opens_its_line(page, key) else None


def _unquoted(page: Page, key: Key, after: re.Match[str]) -> FoundValue | None:
    start, sign = after.end(), after["sign"]
    if block := BLOCK.match(page.text, start):
        return FoundValue(*block.span(block.lastindex or 0), Way.QUOTED)
    if after["pair"]:
        return _bare(page.text, start, ARGUMENT, Way.TIGHT)
    if sign and sign.startswith("%"):
        return _bare(page.text, start, ENCODED, Way.INLINE)
    if after["close"] or not opens_its_line(page, key):
        way = Way.CODE if after["room"] and not after["close"] else Way.INLINE
        return _bare(page.text, start, INLINE, Way.REMARK if sign == ":" else way)
    if sign == "=" and not after["room"] and page.shadow[after.start("sign") - 1] not in " \t":
        return _bare(page.text, start, TIGHT, Way.TIGHT)
    rest = REST_OF_LINE.match(page.text, start)
    length = len(_without_comment(rest[0])) if rest else 0
    return FoundValue(start, start + length, Way.FIELD if sign == ":" else Way.LINE)


def _bare(text: str, start: int, pattern: re.Pattern[str], way: Way) -> FoundValue | None:
    found = pattern.match(text, start)
    return FoundValue(start, found.end(), way) if found else None


def _without_comment(rest: str) -> str:
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
