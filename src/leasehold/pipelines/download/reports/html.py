"""The report as an HTML page."""

from leasehold.pipelines.download.reports.report import Report
from leasehold.pipelines.download.reports.text import LABELS
from leasehold.pipelines.shell.html import facts, page, table
from leasehold.pipelines.shell.text import size_text


def report_page(report: Report) -> str:
    sections = [facts(_overview(report))]
    for error_class, found in report.failed_by_class.items():
        rows = [(file.url, file.work_id, file.message) for file in found]
        sections.append(table(f"{error_class}: {len(found):,} failed", ("URL", "work", "cause"), rows))
    if report.missing:
        rows = [(file.path, file.url, file.sha256) for file in report.missing]
        sections.append(table("Downloaded, and missing from disk now", ("file", "URL", "SHA-256"), rows))
    return page("Download report", "".join(sections))


def _overview(report: Report) -> list[tuple[str, str]]:
    rows = [
        ("planned", f"{report.planned:,} files"),
        ("on disk", f"{report.files:,} files, {size_text(report.bytes)}"),
        ("distinct contents", f"{report.contents:,}"),
        ("saved by deduplication", size_text(report.bytes_saved)),
        ("left to do", f"{report.left:,} files"),
    ]
    if report.first_at and report.last_at:
        rows += [
            ("first download", f"{report.first_at:%Y-%m-%d %H:%M:%S} UTC"),
            ("last download", f"{report.last_at:%Y-%m-%d %H:%M:%S} UTC"),
        ]
    return rows + [(f"{state} ({LABELS[state]})", f"{count:,}") for state, count in report.counts.items()]
