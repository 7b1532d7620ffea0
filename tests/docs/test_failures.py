"""The table in docs/failures.md is the classifier's."""

import errno
import re
from pathlib import Path

from leasehold.model.failure.codes import by_errno, by_smtp, by_sqlite, by_sqlstate, by_status
from leasehold.model.failure.named import class_of
from leasehold.model.failure.verdict import RETRYABLE
from leasehold.model.retry import Retry

PAGE = (Path(__file__).parents[2] / "docs" / "failures.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([A-Z_]+)` \| (yes|no) \| [^|]+ \| ([^|]*)\|$", re.MULTILINE)
EXAMPLE = re.compile(r"`([^`]+)`")


def classified(example: str) -> str | None:
    kind, _, code = example.partition(" ")
    match kind:
        case "HTTP":
            return by_status(int(code))
        case "SMTP":
            return by_smtp(int(code), b"", [])
        case "SQLSTATE":
            return by_sqlstate(code)
        case "SQLite":
            return by_sqlite(int(code))
        case "errno":
            return by_errno(getattr(errno, code))
        case _:
            return class_of([example])


def test_the_table_of_failures_lists_every_class_and_whether_it_is_retried():
    assert {name: retried == "yes" for name, retried, _ in ROW.findall(PAGE)} == RETRYABLE


def test_every_example_in_the_table_of_failures_is_classified_as_listed():
    assert classified("HTTP 429") == "RATE_LIMITED"
    wrong = [
        f"{example} is {classified(example)}, not {name}"
        for name, _, examples in ROW.findall(PAGE)
        for example in EXAMPLE.findall(examples)
        if classified(example) != name
    ]
    assert wrong == []


def test_the_page_of_failures_has_the_defaults_of_a_retry_policy():
    policy = Retry()
    fields = ("attempts", "losses", "delay_initial", "multiplier", "delay_max", "delay_ceiling")
    shown = ", ".join(f"{field}={getattr(policy, field):g}" for field in fields)
    assert f"`Retry({shown})`" in PAGE
