"""Texts that pipelines print: counts, sizes, text from outside that is safe on a terminal, and HTML reports.

A report is one file without scripts or anything to fetch, every value escaped, light or dark.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Final

from leasehold.cli.text import count, printable, truncate

__all__ = ["LISTED_MAX", "count", "counts_text", "listed", "one_line", "printable", "size_text"]
__all__ += ["facts", "page", "table"]

LISTED_MAX: Final = 20
STYLE: Final = """
:root{color-scheme:light dark;--text:#1c1c1c;--muted:#5c5c5c;--line:#ddd;--page:#fff;--good:#17643a;--bad:#9b1c1c;--warn:#8a5a00;--mark:#ffe08a}
@media(prefers-color-scheme:dark){:root{--text:#e6e6e6;--muted:#a3a3a3;--line:#3a3a3a;--page:#161616;--good:#6fcf97;--bad:#ff8a80;--warn:#f2c14e;--mark:#6b5200}}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem;color:var(--text);background:var(--page)}
h1{font-size:1.6rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin:2rem 0 .3rem}a{color:inherit}
.scroll{overflow-x:auto}table{border-collapse:collapse;margin:.5rem 0 1.5rem}
th,td{border-bottom:1px solid var(--line);padding:.3rem .7rem;text-align:left;vertical-align:top;overflow-wrap:anywhere;min-width:5rem}
th{font-weight:600}.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}mark{background:var(--mark);color:inherit}
""".strip()  # noqa: E501 — one rule a line


def counts_text(counts: Mapping[str, int], empty: str = "nothing planned") -> str:
    """Return counts by label: 12 downloaded, 1 failed."""
    return ", ".join(f"{number:,} {label}" for label, number in counts.items() if number) or empty


def size_text(size: float) -> str:
    """Return a number of bytes: 4.2 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1_000:  # noqa: PLR2004 — a step of the units
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:.1f} TB"


def one_line(text: str, width: int) -> str:
    """Return the beginning of a text on one line of at most so many columns."""
    return truncate(printable(" ".join(text.split())), width)


def listed(title: str, lines: Sequence[str], more: str) -> Iterator[str]:
    """Yield a blank line, a title and the first lines; `more` names where the others are."""
    yield from ("", title)
    yield from lines[:LISTED_MAX]
    if len(lines) > LISTED_MAX:
        yield f"  … and {len(lines) - LISTED_MAX:,} more; {more}"


def page(title: str, body: str, style: str = "") -> str:
    """Return a whole page; `body` is HTML, the title is not."""
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style>"
    )
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body><h1>{escape(title)}</h1>\n{body}</body></html>\n'
    )


def facts(rows: Iterable[tuple[str, str]]) -> str:
    return _table("".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>\n" for name, value in rows))


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>\n" for row in rows)
    return f"<h2>{escape(title)}</h2>\n" + _table(f"<tr>{head}</tr>\n{body}")


def _table(rows: str) -> str:
    return f'<div class="scroll"><table>{rows}</table></div>\n'
