"""The measurement of contracts measures what it claims: every row of a run in order, and a goal that can be missed."""

from bench import contracts
from bench.report import Report
from leasehold.contracts import check_run


def test_the_folder_that_is_measured_is_a_run_in_order(tmp_path):
    contracts.make(tmp_path, 30)
    found = check_run(tmp_path)
    assert (found.ok, found.rows) == (True, 30 * 7 + 3), found.diagnostics


def test_a_check_and_a_bare_parse_see_the_same_rows(tmp_path):
    contracts.make(tmp_path, 10)
    assert contracts.checked(tmp_path) == contracts.parsed(tmp_path, bytes.strip) == 71


def test_every_way_is_measured_and_only_the_check_has_a_goal():
    report = Report()
    contracts.measure(report, 20)
    assert len(report.figures) == 5
    assert all(figure > 0 for figure in report.figures.values())
    assert [(goal[0], goal[3]) for goal in report.goals] == [("contracts: check_run, rows/s", 200_000)]
