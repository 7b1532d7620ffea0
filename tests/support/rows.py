"""One test for a whole table: every row is checked, and the failure names every row that does not hold.

`every_row` is written as `pytest.mark.parametrize` is, and stands on itself as that does: tables are multiplied. Use it
for tables of values that need no fixture; a row that needs a database or a process stays a test of its own.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Check = Callable[..., None]
Row = dict[str, Any]
SHOWN_ROW_MAX = 300
SHOWN_LINES_MAX = 6
# The check and the rows of each test that `every_row` made, for the next table above it.
_TABLES: dict[Check, tuple[Check, list[Row]]] = {}


def every_row(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Check], Callable[[], None]]:
    """Make one test of a check and a table; the columns have the names of the check's parameters."""
    table = _rows_of(names, rows)

    def decorate(check: Check) -> Callable[[], None]:
        body, below = _TABLES.get(check, (check, [{}]))
        product = [{**row, **other} for row in table for other in below]

        @functools.wraps(body)
        def test() -> None:
            failures = [failure for row in product if (failure := _failure(body, row))]
            assert not failures, f"{len(failures)} of {len(product)} rows do not hold:\n" + "\n".join(failures)

        del test.__wrapped__  # else pytest looks for the parameters of the check
        _TABLES[test] = body, product
        return test

    return decorate


def count_rows(test: Check) -> int:
    """Return how many rows a test has: 1 unless `every_row` made it."""
    return len(_TABLES[test][1]) if test in _TABLES else 1


def _rows_of(names: str | tuple[str, ...], rows: Iterable[Any]) -> list[Row]:
    if isinstance(names, str):
        table = [{names: value} for value in rows]
    else:
        table = [dict(zip(names, values, strict=True)) for values in rows]
    if not table:
        raise ValueError("a table without rows checks nothing")
    return table


def _failure(check: Check, row: Row) -> str:
    """Return an empty text if the row holds."""
    try:
        check(**row)
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - any error of a row is the row's failure
        lines = f"{type(error).__name__}: {error}".splitlines()[:SHOWN_LINES_MAX]
        return "\n    ".join([f"  {row!r}"[:SHOWN_ROW_MAX], *lines])
    return ""
