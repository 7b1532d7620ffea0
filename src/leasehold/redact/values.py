"""Where the value of an assignment stands: between quotes, up to a space, to the end of its line, inside an element.

Only reads, in many notations; whether what stands there is a secret is judged elsewhere.
"""

from __future__ import annotations

import enum
import re
from typing import Final, NamedTuple

from leasehold.redact.keys import Key
from leasehold.redact.page import Page

AFTER: Final = re.compile(
    r"""(?P<close>(?:\\{0,3}["'`]|&quot;|&\#34;)?\]?)[ \t]{0,8}(?:
      (?P<typed>:[ ]?[a-z_][a-z0-9_.\[\]|, ]{0,60}?[ ]=[ ])               # password: str = "..."
    | (?P<pair>(?:,?(?:[ \t\r\n]|\\{1,3}[nr]){1,80}\\{0,3}["']?|,\\{0,3}["'])value\\{0,3}["']?[ \t]{0,4}[:=][ \t]{0,4})
                                                                          # name: PASSWORD, value: ...
    | (?P<sign>:=|=>|={1,3}|!={1,2}|\?=|:(?!:)|%3d)(?P<room>[ \t]{0,8}\r?\n[ \t]{0,40}(?=\\{0,3}["'])|[ \t]{0,8})
    | (?P<comma>,)[ \t]{0,8}                                              # setenv("PASSWORD", "...")
    | (?P<element>>)                                                      # <password>...</password>
    | (?P<call>\()                                                        # setPassword("...")
    )""",
    re.VERBOSE,
)
COMPARISONS: Final = frozenset(("==", "===", "!=", "!=="))
SPACE: Final = re.compile(r"[ \t]")
GAP: Final = re.compile(r"[ \t]{1,4}")
SPOKEN: Final = frozenset(("password", "passwd", "passphrase"))  # PASSWORD 'hunter2' in SQL, password hunter2 in .netrc
LAST_OF_LINE: Final = re.compile(r"(?=[^\s0-9]{0,64}[0-9])[^\s\"'`=:(,\\]+(?=[ \t]*(?:[\r\n\\\"']|$))")

OPENING: Final = re.compile(r"[bBrRuUfF]{0,2}(\\{0,3}(?:\"\"\"|'''|[\"'`])|&quot;|&\#34;)")
CODE_GOES_ON: Final = re.compile(r"[ \t]{0,8}(?:[,);+\]}.%]|$)")
QUOTES: Final = {
    '"': re.compile(r'(?:[^"\\\r\n]|\\.)*+'),
    "'": re.compile(r"(?:[^'\\\r\n]|\\.)*+"),
    "`": re.compile(r"(?:[^`\\\r\n]|\\.)*+"),
    '"""': re.compile(r'(?:[^"\r\n]|"(?!""))*+'),
    "'''": re.compile(r"(?:[^'\r\n]|'(?!''))*+"),
    "&quot;": re.compile(r"(?:[^&\r\n]|&(?!quot;))*+"),
    "&#34;": re.compile(r"(?:[^&\r\n]|&(?!#34;))*+"),
}

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
CONTENT: Final = re.compile(r"[^<\r\n]++(?=</|\r|\n|$)")
# As in: setattr(self, "password", "hunter2"), or config.set("smtp", "password", "hunter2").
SETTER: Final = re.compile(r"(?:set|put|setattr|setattr__)\([^()\r\n]{1,60},[ ]?[\"']$")
SETTER_REACH: Final = 80
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


class Value(NamedTuple):
    """What follows a name, and how."""

    start: int
    end: int
    way: Way


def value_after(page: Page, key: Key) -> Value | None:
    """Return the value that the name announces, if anything stands where a value can."""
    after = AFTER.match(page.shadow, key.end)
    if not after:
        return _spoken(page, key)
    start = after.end()
    if "\n" in (after["room"] or "") and not after["close"]:
        return None
    if after["call"]:
        return quoted(page.text, start) if key.name.startswith(("set", "with")) else None
    if after["comma"]:
        return _next_item(page.text, key, start) if after["close"] else None
    if after["element"]:
        return _element(page, key, start)
    if value := quoted(page.text, start):
        return None if _was_closing(page.text, key, value, after) else value
    return None if after["sign"] in COMPARISONS else _unquoted(page, key, after)


def _spoken(page: Page, key: Key) -> Value | None:
    """Return what follows after nothing but a space: on command lines, in SQL and in .netrc."""
    gap = GAP.match(page.shadow, key.end)
    is_option = key.name.startswith("--")
    if not gap or not (is_option or key.name in SPOKEN):
        return None
    if value := quoted(page.text, gap.end()):
        return value if is_option or not SPACE.search(page.text, value.start, value.end) else None
    return _bare(page.text, gap.end(), ARGUMENT if is_option else LAST_OF_LINE, Way.ARGUMENT)


def quoted(text: str, start: int) -> Value | None:
    """Return what is between the quotes that open here; without a closing one, up to the end of the line."""
    opening = OPENING.match(text, start)
    if not opening:
        return None
    first = opening.end()
    closing = _escaped(opening[1]) if "\\" in opening[1] else QUOTES[opening[1]]
    found = closing.match(text, first)
    return Value(first, found.end() if found else first, Way.QUOTED)


def _escaped(opening: str) -> re.Pattern[str]:
    """Return the pattern up to an escaped quote: text inside a JSON string."""
    quote = re.escape(opening[-1])
    return re.compile(rf"(?:[^\\{quote}\r\n]|\\(?!\\*{quote}))*+")


def _was_closing(text: str, key: Key, value: Value, after: re.Match[str]) -> bool:
    """Tell the quote that ends `'Password: '` from one that opens a value."""
    if after["close"] or after["sign"] != ":":
        return False
    return text[key.start - 1 : key.start] == text[value.start - 1] or bool(CODE_GOES_ON.match(text, value.start))


def _next_item(text: str, key: Key, start: int) -> Value | None:
    """Return the item after the name in `("PASSWORD", "hunter2")` or `["--password", "hunter2"]`, not in any list."""
    value = quoted(text, start)
    if value is None or key.name.startswith("--") or SETTER.search(text, max(0, key.start - SETTER_REACH), key.start):
        return value
    is_pair = text[max(0, key.start - 2) : key.start - 1] in {"(", "["}
    return None if not is_pair or ALPHABETIC.fullmatch(text, value.start, value.end) else value


def _element(page: Page, key: Key, start: int) -> Value | None:
    before = page.shadow[max(0, key.start - 40) : key.start].rstrip("abcdefghijklmnopqrstuvwxyz0123456789_.:-")
    value = _bare(page.text, start, CONTENT, Way.CONTENT) if before.endswith("<") else None
    # Without its closing tag it may be cut off, but then it fills its line; else `<password>` only marks a place.
    is_closed = value is not None and page.text.startswith("</", value.end)
    return value if is_closed or _opens_its_line(page, key) else None


def _unquoted(page: Page, key: Key, after: re.Match[str]) -> Value | None:
    start, sign = after.end(), after["sign"]
    if block := BLOCK.match(page.text, start):
        return Value(*block.span(block.lastindex or 0), Way.QUOTED)
    if after["pair"]:
        return _bare(page.text, start, ARGUMENT, Way.TIGHT)
    if sign == "%3d":
        return _bare(page.text, start, ENCODED, Way.INLINE)
    if after["close"] or not _opens_its_line(page, key):
        return _bare(page.text, start, INLINE, _way_amid_text(after))
    if sign == "=" and not after["room"] and page.shadow[after.start("sign") - 1] not in " \t":
        return _bare(page.text, start, TIGHT, Way.TIGHT)
    rest = REST_OF_LINE.match(page.text, start)
    length = len(_without_comment(rest[0])) if rest else 0
    return Value(start, start + length, Way.FIELD if sign == ":" else Way.LINE)


def _bare(text: str, start: int, pattern: re.Pattern[str], way: Way) -> Value | None:
    found = pattern.match(text, start)
    return Value(start, found.end(), way) if found else None


def _way_amid_text(after: re.Match[str]) -> Way:
    if after["sign"] == ":":
        return Way.REMARK
    return Way.CODE if after["room"] and not after["close"] else Way.INLINE


def _without_comment(rest: str) -> str:
    found = COMMENT.search(rest, 0, COMMENT_REACH)
    return (rest[: found.start()] if found else rest).rstrip()


def _opens_its_line(page: Page, key: Key) -> bool:
    line_start = page.shadow.rfind("\n", max(0, key.start - HEAD_REACH), key.start) + 1
    if line_start == 0 and key.start > HEAD_REACH:
        return False
    return LINE_HEAD.fullmatch(page.shadow, line_start, key.start) is not None
