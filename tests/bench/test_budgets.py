"""The benchmark of budgets counts what was spent, on both databases, from processes of their own."""

from bench.bed import Bed
from bench.budgets import measure
from bench.report import Report


def test_every_debit_that_is_counted_was_spent(store, dialect, postgres, capsys):
    report = Report()
    assert measure(Bed(dialect, store.url, store, postgres), 2, 3, 0.2, report) > 0
    assert len(report.figures) == 2
    assert "the bare statement, 3 a commit" in capsys.readouterr().out
