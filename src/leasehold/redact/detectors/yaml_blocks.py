"""Secrets on the lines below a key name, as YAML writes lists and maps: the block ends where the indentation does.

The margin of a diff counts as no indentation, and line ends may be escaped: the document may be a string of JSON.
A block is walked over once; what is inside it is not walked over again for a name inside it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from leasehold.redact.classify.key_names import Key, KeyKind
from leasehold.redact.classify.not_secret import is_expression, is_listed_secret
from leasehold.redact.classify.values import quoted
from leasehold.redact.detectors.containers import SEVERAL, Item, belongs, read_items
from leasehold.redact.page import Page, end_of
from leasehold.redact.text import Span

END: Final = r"(?:\r?\n|\\{1,3}r\\{1,3}n|\\{1,3}n)"
HEAD: Final = re.compile(rf"\\{{0,3}}[\"']?:[ \t]{{0,8}}(?:#[^\r\n]{{0,120}})?(?={END})")
BEFORE: Final = re.compile(r"(?:\A|\n|\\n|[\"'])([-+>|]?)([ \t]{0,80}(?:- )?)\\{0,3}[\"']?\Z")
BEFORE_REACH: Final = 96
LINE_END: Final = re.compile(END)
MARGIN: Final = re.compile(r"[-+>| ]?")
INDENT: Final = re.compile(r"[ \t]{0,200}")
DASH: Final = re.compile(r"-[ \t]{1,8}")
EMPTY: Final = re.compile(r"[ \t]*+(?:#|\r|\n|\\{1,3}[nr]|$)")
NAME: Final = re.compile(r"\\{0,3}[\"']?([A-Za-z0-9_./-]{1,80})\\{0,3}[\"']?:(?:[ \t]{1,40}|(?=[\r\n\\]|$))")
REST: Final = re.compile(r"(?:[^\r\n\\]|\\(?!\\{0,2}[nr\"]))*+")
WHOLE_REST: Final = re.compile(r"(?:[^\r\n\\]|\\(?!\\{0,2}[nr]))*+")
COMMENT: Final = re.compile(r"[ \t]#.{0,200}")
SCALAR: Final = re.compile(r"[|>][0-9+-]{0,2}[ \t]{0,8}(?:$|[\r\n\\])")
TOKENS: Final = re.compile(
    r"(?:(?<![a-z0-9_])(?<![a-z0-9_]-)|(?<=\\n))(?:(?:api|access|auth|refresh|bearer|secret|user|bot|deploy)[_-]?)?tokens\b"
)
ALONE_MAX: Final = 16  # lines that are read below `password:` before the value has to come
# The documents of Kubernetes that hold secrets, in YAML and in JSON.
SECRET: Final = re.compile(r"\\{0,3}[\"']?[ \t]{0,8}:[ \t]{0,8}\\{0,3}[\"']?(?:sealed)?secret\b")
PAYLOAD: Final = re.compile(r"(?<![\w-])(?:string)?data(?=\\{0,3}[\"']?[ \t]{0,8}:)")
OBJECT: Final = re.compile(r"\\{0,3}[\"']?[ \t]{0,8}:[ \t\r\n]{0,8}\{")
PAYLOAD_REACH: Final = 2_000
PAYLOADS_MAX: Final = 4


class BlockLine(NamedTuple):
    """One line of a block: where its value stands, what name it has, how far it is indented."""

    start: int
    end: int
    inner: str
    indent: int
    is_item: bool


def find_in_blocks(page: Page, keys: Sequence[Key]) -> Iterator[Span]:
    """Yield the items and values of the blocks that key names head."""
    done = 0
    for key in sorted([*keys, *_tokens(page)]):
        head = HEAD.match(page.shadow, key.end) if key.start >= done else None
        before = BEFORE.search(page.shadow, max(0, key.start - BEFORE_REACH), key.start) if head else None
        if not head or not before or not (key.kind.strong or key.name.endswith("tokens")):
            continue
        several = SEVERAL.search(key.name) is not None
        for line in _lines(page, head.end(), before, several=several):
            done = max(done, line.end if several else line.start)
            if belongs(key.name, line.inner) and _is_secret(page.text[line.start : line.end], key.name):
                yield Span(line.start, line.end, key.kind.name)


def _tokens(page: Page) -> Iterator[Key]:
    for place in page.places("tokens:"):
        if found := TOKENS.search(page.shadow, max(0, place - 10), place + 6):
            yield Key(found.start(), found.end(), found[0], KeyKind("token", strong=False))


def _is_secret(content: str, name: str) -> bool:
    return is_listed_secret(content, name) and content[0] not in "&*!{[" and not is_expression(content, in_code=False)


def _lines(page: Page, position: int, before: re.Match[str], *, several: bool) -> Iterator[BlockLine]:
    """Yield the lines that belong to the block whose head ends here."""
    least = len(before[2])
    deeper_than = -1  # while above that, lines are those of a text, not of a map
    for count, (start, indent) in enumerate(_below(page.text, position, has_margin=bool(before[1]))):
        if EMPTY.match(page.text, start):
            continue
        is_text = 0 <= deeper_than < indent
        line = _valued(page.text, start, "", indent, is_item=True) if is_text else _line(page.text, start, indent)
        if line is None or indent < least or (indent == least and not line.is_item):
            return
        if not several and (count > ALONE_MAX or line.start == line.end):
            return
        if indent <= deeper_than:
            deeper_than = -1
        if SCALAR.match(page.text, line.start):
            deeper_than = indent
        elif line.start < line.end:
            yield line


def _below(text: str, position: int, *, has_margin: bool) -> Iterator[tuple[int, int]]:
    """Yield where the content of each following line starts and how far it is indented."""
    while line_end := LINE_END.match(text, position):
        start = line_end.end()
        start = end_of(MARGIN, text, start) if has_margin else start
        content = end_of(INDENT, text, start)
        yield content, content - start
        position = end_of(WHOLE_REST, text, content)


def _line(text: str, start: int, indent: int) -> BlockLine | None:
    first = end_of(DASH, text, start)
    name = NAME.match(text, first)
    if first == start and not name:
        return None
    return _valued(text, name.end() if name else first, name[1].lower() if name else "", indent, is_item=first > start)


def _valued(text: str, start: int, inner: str, indent: int, *, is_item: bool) -> BlockLine:
    if value := quoted(text, start):
        return BlockLine(value.start, value.end, inner, indent, is_item)
    content = text[start : end_of(REST, text, start)]
    comment = COMMENT.search(content, 0, 256)
    content = (content[: comment.start()] if comment else content).rstrip(' \t"')
    return BlockLine(start, start + len(content), inner, indent, is_item)


def find_in_secret_documents(page: Page) -> Iterator[Span]:
    """Yield every value below `data` and `stringData` in a document of `kind: Secret`."""
    done = 0
    for place in page.places("kind"):
        if not SECRET.match(page.shadow, place + 4):
            continue
        first = max(done, page.shadow.rfind("\n---", max(0, place - PAYLOAD_REACH), place), place - PAYLOAD_REACH)
        last = page.shadow.find("\n---", place, place + PAYLOAD_REACH)
        last = place + PAYLOAD_REACH if last < 0 else last
        for payload in list(PAYLOAD.finditer(page.shadow, first, last))[:PAYLOADS_MAX]:
            if payload.start() < done:
                continue
            for span in _payload(page, Key(*payload.span(), "secrets", KeyKind("secret", strong=True))):
                done = span.end
                yield span


def _payload(page: Page, key: Key) -> Iterator[Span]:
    opening = OBJECT.match(page.shadow, key.end)
    head = HEAD.match(page.shadow, key.end)
    before = BEFORE.search(page.shadow, max(0, key.start - BEFORE_REACH), key.start) if head else None
    found: Iterable[Item | BlockLine] = ()
    if opening:
        found = read_items(page, opening.end())
    elif head and before:
        found = _lines(page, head.end(), before, several=True)
    for item in found:
        if is_listed_secret(page.text[item.start : item.end], key.name):
            yield Span(item.start, item.end, "secret")
