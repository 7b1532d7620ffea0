"""Where the value of a name stands, in many notations: after a sign, in the next item, in a call, before the name.

Only reads; whether what stands there is a secret is judged elsewhere.
"""

import re
from typing import Final

from leasehold.redact.classify.key_names import Key
from leasehold.redact.classify.not_secret import is_label
from leasehold.redact.classify.sentences import compared, stated, stated_before
from leasehold.redact.classify.values import (
    ALPHABETIC,
    ARGUMENT,
    BLOCK,
    CODE_GOES_ON,
    CONTENT,
    ENCODED,
    INLINE,
    REST_OF_LINE,
    TIGHT,
    WRAPPER,
    FoundValue,
    Way,
    bare,
    opens_its_line,
    quoted,
    without_comment,
)
from leasehold.redact.page import Page, end_of

AFTER: Final = re.compile(
    r"""(?P<close>(?:\\{0,3}["'`]|&quot;|&\#34;|%(?:25)?2[27]|\\{1,3}(?:u00|x)22)?(?:%5b)?(?:\]|%5d)?)
    (?:\[[0-9]{0,4}\]|\)(?=[ ](?:or|\|\||\?\?|\?:|\{)[ ]))?[ \t]{0,8}(?:
      (?P<typed>:[ ]?&?[a-z_][a-z0-9_.\[\]|, ]{0,60}?[ ]=[ ])               # password: str = "..."
    | (?P<declared>(?:as[ ])?[a-z_][a-z0-9_.()]{0,40}[ ](?:=|default)[ ](?=[bnrue]?["'`]))   # password string = "..."
    | (?P<pair>(?:,?(?:[ \t\r\n]|\\{1,3}[nr]){1,80}\\{0,3}["']?|,\\{0,3}["'])
      (?:parameter)?value\\{0,3}["']?[ \t]{0,4}[:=][ \t]{0,4})
                                                                          # name: PASSWORD, value: ...
    | (?P<later>,[^{}\[\]]{1,160}?["']value\\{0,3}["'][ \t]{0,4}:[ \t]{0,4})   # "name": "PASSWORD", ..., "value": ...
    | (?P<variable>\{[^{}]{0,400}?\bdefault[ \t]{0,16}=[ \t]{0,4})            # variable "password" { default = ... }
    | (?P<attribute>(?:[ ]?[a-z:-]{1,20}=["'][^"'<>\r\n]{0,40}["'][ ]){0,3}value=(?=["']))  # <input ...>
    | (?P<part>(?:\r?\n[a-z-]{4,40}:[^\r\n]{0,80}){0,2}(?:\r?\n){2})        # of a form: name="password"
    | (?P<maybe>(?:or|\|\||\?\?|\?:|\{)[ ](?=["'`])|-?eq[ ](?=["'])|\.equals\((?=["'])|=~[ ](?=["']))   # env or "..."
    | (?P<cell>:?</t[dh]>[ \t\r\n]{0,40}<t[dh]>|</dt>[ \t\r\n]{0,40}<dd>)   # <td>password</td><td>...</td>
    | (?P<below>=[ \t]{0,4}\r?\n[ \t]{1,40}(?=["'])|:[ \t]{0,4}\r?\n[ \t]{1,40}(?=[^\s"'`]{8,128}[ \t]{0,4}(?:\r?\n|$)))
    | (?P<sign>(?:<-|->)(?=[ ]?["'])|:{1,3}=|=>|={1,3}|!={1,2}|(?:[?.+]|\?\?|\|\||&&)=|:(?!:)|%(?:25)?3[ad]
      |\\{1,3}(?:u00|x)3[ad]|&\#(?:61|58|x3[ad]);)(?:%(?:25)?20|\+(?=%22))?
      (?P<room>[ \t]{0,8}\r?\n[ \t]{0,40}(?=\\{0,3}["'])|[ \t]{0,8})
    | (?P<comma>,)[ \t]{0,8}                                              # setenv("PASSWORD", "...")
    | (?P<element>(?:(?<=["'])[ ][^<>\r\n]{1,80}|[a-z:]{1,20}=["'][^<>\r\n]{1,120})?>
      (?:<!\[cdata\[)?(?:[ \t\r\n]{0,80}(?:<(?:string|value|val)>)?[ \t\r\n]{0,80}))
                                                                          # <password>...</password>
    | (?P<plist></(?:key|name|property|option)>[ \t\r\n]{0,40}<(?:string|value|val|data)>[ \t\r\n]{0,40})
    | (?P<call>\()                                                        # setPassword("...")
    )""",
    re.VERBOSE,
)
COMPARISONS: Final = frozenset(("==", "===", "!=", "!=="))
SPACE: Final = re.compile(r"[ \t]")
GAP: Final = re.compile(r"[ \t]{1,4}")
# Of Redis, LDAP and npm: the value follows and ends the line.
SETTINGS: Final = frozenset(("requirepass", "bindpw", "_authtoken"))
SPOKEN: Final = ("password", "passwd", "passphrase")  # PASSWORD 'hunter2' in SQL, password hunter2 in .netrc
OPTION_LENGTH_MIN: Final = 6  # of -ClientSecret, counted with its dash
OPTION: Final = re.compile(r"--|-[a-z]")
OPTION_STARTS: Final = frozenset("\0 \t\r\n\"'`,;|([")
# ENV DB_PASSWORD hunter2 in a Dockerfile, setenv in csh, aws configure set aws_secret_access_key ...
SET_TO: Final = re.compile(
    r"(?:(?:\A|\n|[\"'+])[ \t]{0,8}(?:env|setenv|set -g?x|setx)|config(?:ure)?[ ](?:--)?set(?:[ ]--\w{1,20})?)"
    r"[ ][\w.:/-]{0,40}\Z"
)
SET_TO_REACH: Final = 72
LAST_OF_LINE: Final = re.compile(r"(?=[^\s0-9]{0,64}[0-9])[^\s\"'`=:(,\\]+(?=[ \t]*(?:[\r\n\\\"';]|$))")
SETTING: Final = re.compile(r"[^\s\"'`]+(?=[ \t]*(?:[\r\n]|$))")
KIND_DIGIT: Final = re.compile(r"[0-9] (?=\S)")  # network devices put the encoding of the password before it
QUOTED_ENDS: Final = re.compile(r"[\"'`][;,)]?[ \t]*(?:[\r\n]|$)")
# env || "hunter2", config.get("x") or "hunter2"
FALLBACK: Final = re.compile(
    r"[A-Za-z_$][\w.$\[\]()\"'-]{0,80}(?:[ ]if[ ][^\"'\r\n]{1,60}[ ]else|[ ](?:\|\||\?\?|\?:|or))[ ]{1,2}(?=[\"'`])"
)
SHELL_DEFAULT: Final = re.compile(r":?[-=]([^\s\"'${}]{3,256})(?=\})")

ELEMENT: Final = re.compile(
    r"<[\w:.-]{0,40}(?:\s[^<>]{0,80})?(?<=[\s<])(?:name|key|property)=\\{0,3}[\"']\Z|<[\w:.-]{0,40}\Z"
)
ELEMENT_REACH: Final = 140
# As in: setattr(self, "password", "hunter2"), or config.set("smtp", "password", "hunter2").
SETTER: Final = re.compile(
    r"(?:(?:set|put|setattr|setattr__)\([^()\r\n]{1,60},[ ]?"
    r"|(?:setenv|putenv|setproperty|setdefault|getenv|environ\.get|fetch|setrequestheader)\([ ]?)[\"']$"
)
SETTER_REACH: Final = 80
PAIR_OPENS: Final = re.compile(r"[(\[][ \t]{0,4}[bru]?\\{0,3}[\"'`]\Z")
PAIR_CLOSES: Final = re.compile(r"\\{0,3}[\"'`][ \t]{0,4},?[ \t]{0,4}[)\]]")
PAIR_REACH: Final = 12
DRAWN_VALUE: Final = re.compile(r"(?=[^\s0-9]{0,64}[0-9])(?=[^\sA-Za-z]{0,64}[A-Za-z])[^\s:=({<\[]{8,128}(?![^\s])")
CLOSED: Final = re.compile(r"[ \t\r\n]{0,80}(?:</|\]\]>)")


def value_after(page: Page, key: Key) -> FoundValue | None:
    """Return the value that the name announces, if anything stands where a value can."""
    if page.text.startswith("${", key.start - 2) and (default := SHELL_DEFAULT.match(page.text, key.end)):
        return FoundValue(*default.span(1), Way.TIGHT)
    if not (after := AFTER.match(page.shadow, key.end)):
        return _spoken(page, key)
    start = after.end()
    if "\n" in (after["room"] or "") and not after["close"]:
        return None
    if after["below"]:
        return quoted(page.text, start) or bare(page.text, start, DRAWN_VALUE, Way.ARGUMENT)
    if after["call"] or after["comma"]:
        return _argument(page, key, after)
    if after["plist"] or after["cell"]:
        is_content = page.shadow.endswith(">", 0, key.start)
        return bare(page.text, start, CONTENT, Way.CONTENT if after["plist"] else Way.GUESSED) if is_content else None
    return _element(page, key, start) if after["element"] else _assigned(page, key, after)


def value_before(page: Page, key: Key) -> FoundValue | None:
    """Return the value that stands before its name: compared with it, or in a sentence that ends in it."""
    if found := compared(page.text, key.start):
        return FoundValue(*found, Way.GUESSED)
    if found := stated_before(page.text, key.start):
        return FoundValue(*found, Way.ARGUMENT)
    return None


def _argument(page: Page, key: Key, after: re.Match[str]) -> FoundValue | None:
    """Return the value in `setPassword("...")`, `password("...")`, `setenv("PASSWORD", "...")`."""
    start = after.end()
    if after["comma"]:
        if key.name.startswith("curlopt") and not after["close"]:
            return quoted(page.text, start)
        return _next_item(page.text, key, start) if after["close"] else None
    value = quoted(page.text, start)
    if value is None and (found := stated(page.text, key)):
        return FoundValue(*found, Way.ARGUMENT)
    is_setter = key.name.startswith(("set", "with")) or page.text[key.start : key.end] == "PASSWORD"
    if value is None or is_setter:
        return value
    return value._replace(way=Way.GUESSED)


def _assigned(page: Page, key: Key, after: re.Match[str]) -> FoundValue | None:
    start = after.end()
    if after["later"] or after["variable"] or after["attribute"]:
        return quoted(page.text, start) if after["close"] or after["attribute"] else None
    if after["part"] is not None:
        is_named = after["close"] and page.shadow.endswith('name="', 0, key.start)
        return bare(page.text, start, REST_OF_LINE, Way.CONTENT) if is_named else None
    if value := quoted(page.text, start):
        if after["maybe"]:
            return value._replace(way=Way.GUESSED)
        return None if _was_closing(page.text, key, value, after) else value
    return _computed(page, start) or (None if after["sign"] in COMPARISONS else _unquoted(page, key, after))


def _computed(page: Page, start: int) -> FoundValue | None:
    """Return the text inside `SecretStr("...")`, or the one that `env || "..."` falls back to."""
    wrapper = WRAPPER.match(page.shadow, start)
    if wrapper and (value := quoted(page.text, wrapper.end())):
        return value
    fallback = FALLBACK.match(page.text, start)
    value = quoted(page.text, fallback.end()) if fallback else None
    return value._replace(way=Way.GUESSED) if value else None


def _spoken(page: Page, key: Key) -> FoundValue | None:
    """Return what follows after nothing but a space: on command lines, in SQL, in .netrc and in a sentence."""
    text = page.text
    gap = GAP.match(text, key.end)
    value = quoted(text, gap.end()) if gap else None
    if gap and is_option(page, key):
        return value or bare(text, gap.end(), ARGUMENT, Way.ARGUMENT)
    if gap and (key.name in SETTINGS or _is_set_to(page, key)):
        return value or bare(text, gap.end(), SETTING, Way.ARGUMENT)
    if value and not SPACE.search(text, value.start, value.end):
        return value if key.name.endswith(SPOKEN) else _alone(text, value)
    if found := stated(text, key):
        return FoundValue(*found, Way.ARGUMENT)
    is_column = gap and key.kind.strong and text[gap.start()] == "\t" and opens_its_line(page, key)
    if not gap or not (key.name in SPOKEN or is_column):
        return None
    return bare(text, end_of(KIND_DIGIT, text, gap.end()), LAST_OF_LINE, Way.ARGUMENT)


def _is_set_to(page: Page, key: Key) -> bool:
    before = page.shadow[max(0, key.start - SET_TO_REACH) : key.start]
    return ("env " in before or "set" in before) and SET_TO.search(before) is not None


def is_option(page: Page, key: Key) -> bool:
    if key.name[0] != "-" or len(key.name) < OPTION_LENGTH_MIN or not OPTION.match(key.name):
        return False
    return key.start == 0 or page.text[key.start - 1] in OPTION_STARTS


def _alone(text: str, value: FoundValue) -> FoundValue | None:
    return value._replace(way=Way.GUESSED) if QUOTED_ENDS.match(text, value.end) else None


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
    value = bare(page.text, start, CONTENT, Way.CONTENT) if opens else None
    # Without its closing tag it may be cut off, but then it fills its line; else `<password>` only marks a place.
    is_closed = value is not None and CLOSED.match(page.text, value.end)
    is_cut_off = "\n" not in page.text[key.end : start] and opens_its_line(page, key)
    return value if is_closed or is_cut_off else None


def _unquoted(page: Page, key: Key, after: re.Match[str]) -> FoundValue | None:
    start, sign = after.end(), after["sign"]
    if block := BLOCK.match(page.text, start):
        return FoundValue(*block.span(block.lastindex or 0), Way.QUOTED)
    if after["pair"]:
        return bare(page.text, start, ARGUMENT, Way.TIGHT)
    if sign and sign[0] in "\\&":
        return bare(page.text, start, INLINE, Way.INLINE)
    if sign and sign.startswith("%"):
        return bare(page.text, start, ENCODED, Way.INLINE)
    if after["close"] or not opens_its_line(page, key):
        way = Way.CODE if after["room"] and not after["close"] else Way.INLINE
        return bare(page.text, start, INLINE, Way.REMARK if sign == ":" else way)
    if sign == "=" and not after["room"] and page.shadow[after.start("sign") - 1] not in " \t":
        return bare(page.text, start, TIGHT, Way.TIGHT)
    rest = REST_OF_LINE.match(page.text, start)
    length = len(without_comment(rest[0])) if rest else 0
    return FoundValue(start, start + length, Way.FIELD if sign == ":" else Way.LINE)
