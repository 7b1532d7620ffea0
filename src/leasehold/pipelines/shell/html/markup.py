"""HTML that is safe by construction: a text is escaped unless it is `Html`, which only `element` and `join` make.

Text of others may hold terminal escapes, line breaks or bidirectional controls: each is shown as a visible escape.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final
from urllib.parse import quote

from leasehold.cli.text import printable

TAB_COLUMNS: Final = 4
VOID: Final = {"br", "col", "input", "meta", "wbr"}

Attribute = str | int | float | bool | None


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: object) -> Html:
    """Return a text of one line, escaped; `Html` stays as it is."""
    return value if isinstance(value, Html) else Html(escape(printable(value)))


def multiline(value: str) -> Html:
    """Return a text of several lines for a `pre`."""
    return Html("\n".join(escape(line) for line in visible_lines(value)))


def visible_lines(value: str) -> Iterator[str]:
    """Yield the lines of a text with tabs as spaces and every other control character as a visible escape."""
    for line in value.split("\n"):
        yield printable(line.removesuffix("\r").expandtabs(TAB_COLUMNS))


def element(name: str, /, *content: object, **attributes: Attribute) -> Html:
    """Return an element: `element("td", child.name, class_="name", data_label="child")`.

    False and None leave an attribute out; True gives it without a value.
    """
    opening = "".join([name, *(_attribute(key, value) for key, value in attributes.items())])
    if name in VOID:
        return Html(f"<{opening}>")
    return Html(f"<{opening}>{join(content)}</{name}>")


def join(parts: Iterable[object], between: str = "") -> Html:
    return Html(escape(between).join(text(part) for part in parts if part is not None))


def code(name: str) -> Html:
    """Return a name of a program's, which may break after each of its underscores."""
    first, *rest = name.split("_")
    return element("code", first, *(part for one in rest for part in ("_", element("wbr"), one)))


def local_link(path: str) -> str:
    """Return the address of a file relative to the page: its text cannot name a scheme or a host."""
    return "./" + quote(path.lstrip("/"))


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.removesuffix("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(printable(value))}"'
