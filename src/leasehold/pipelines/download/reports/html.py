"""A report as one page that needs nothing else: no scripts, no links to fetch, every value escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from leasehold.pipelines.download.reports.report import Report
from leasehold.pipelines.download.reports.text import size_of

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1c1c1c}"
    "table{border-collapse:collapse;width:100%;margin:.5rem 0 2rem}"
    "th,td{border-bottom:1px solid #ddd;padding:.3rem .6rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}"
    "th{font-weight:600}"
)


def page_of(report: Report) -> str:
    """Return the page."""
    sections = [_table("Overview", ("", ""), _overview(report))]
    for error_class, found in report.failed_by_class.items():
        rows = [(one.url, one.work_id, one.message) for one in found]
        sections.append(_table(f"{error_class}: {len(found):,} failed", ("address", "work", "why"), rows))
    if report.missing:
        rows = [(one.path, one.url, one.sha256) for one in report.missing]
        sections.append(_table("Was here and is gone", ("file", "address", "sha256"), rows))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Download report</title>'
        f"<style>{STYLE}</style></head>\n<body><h1>Download report</h1>\n{''.join(sections)}</body></html>\n"
    )


def _overview(report: Report) -> list[tuple[str, str]]:
    rows = [
        ("planned", f"{report.planned:,} files"),
        ("here", f"{report.files:,} files, {size_of(report.bytes)}"),
        ("distinct contents", f"{report.contents:,}"),
        ("saved by keeping each once", size_of(report.bytes_saved)),
        ("left", f"{report.left:,} files"),
    ]
    if report.first_at and report.last_at:
        rows += [
            ("first", f"{report.first_at:%Y-%m-%d %H:%M:%S} UTC"),
            ("last", f"{report.last_at:%Y-%m-%d %H:%M:%S} UTC"),
        ]
    return rows + [(state, f"{count:,}") for state, count in report.counts.items()]


def _table(title: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>\n" for row in rows)
    return f"<h2>{escape(title)}</h2>\n<table><tr>{head}</tr>\n{body}</table>\n"
