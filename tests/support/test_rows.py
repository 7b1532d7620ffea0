"""A table that is one test still shows every row that fails, and cannot be empty."""

import pytest

from tests.support.rows import count_rows, every_row


@every_row(("word", "length"), [("lease", 5), ("fence", 5), ("epoch", 5)])
def test_every_row_of_a_table_is_checked_in_one_test(word, length):
    assert len(word) == length


def test_a_failure_names_every_row_that_does_not_hold():
    @every_row("number", range(6))
    def is_small(number):
        if number == 5:
            raise ZeroDivisionError("five")
        if number == 4:
            pytest.fail("four")
        assert number < 3

    with pytest.raises(AssertionError) as failure:
        is_small()
    shown = str(failure.value)
    assert "3 of 6 rows do not hold" in shown
    assert [f"{{'number': {number}}}" in shown for number in range(6)] == [False, False, False, True, True, True]
    assert "ZeroDivisionError: five" in shown
    assert "four" in shown


def test_tables_on_one_another_are_multiplied():
    seen = []

    @every_row("letter", "ab")
    @every_row("digit", [1, 2, 3])
    def record(letter, digit):
        seen.append((letter, digit))

    record()
    assert sorted(seen) == [(letter, digit) for letter in "ab" for digit in (1, 2, 3)]
    assert count_rows(record) == 6


def test_a_table_without_rows_is_refused():
    with pytest.raises(ValueError, match="without rows"):
        every_row("number", [])
