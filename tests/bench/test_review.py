"""The measurement of reviews measures what it claims: every finding, and coercions and drops as named."""

from bench import review
from bench.report import Report
from leasehold.pipelines.review.contract import parse_review


def kinds(make):
    found = parse_review(review.response(make), review.CHANGED, review.EXPECTED)
    assert found.result is not None
    return len(found.result.findings), len(found.diagnostics)


def test_what_is_parsed_is_in_order_coerced_twice_or_dropped_by_half():
    assert kinds(review.finding) == (500, 0)
    assert kinds(review.crooked) == (500, 1_000)
    assert kinds(review.half_dropped) == (250, 250)


def test_the_slowest_way_has_the_goal():
    report = Report()
    review.measure(report, 1)
    assert len(report.figures) == 4
    assert [(goal[0], goal[3]) for goal in report.goals] == [("review: the slowest way to parse, findings/s", 5_000)]
