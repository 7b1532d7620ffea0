"""The measurement of translations measures what it claims: the same paragraphs in every way."""

import pytest

from bench import translate
from bench.report import Report
from leasehold.pipelines.translate.documents import read_document
from tests.support.needs import APERTIUM

SOURCE = "# A house\n\nThe house is red.\n\nThe garden is not small.\n"


@pytest.fixture(params=[APERTIUM.param("apertium")])
def source(tmp_path):
    (tmp_path / "house.md").write_text(SOURCE)
    return tmp_path / "house.md"


def test_every_way_of_translating_is_measured_and_none_has_a_goal(source):
    report = Report()
    translate.measure(source, 1, report)
    assert len(report.figures) == 6 + 5
    assert all(figure > 0 for figure in report.figures.values())
    assert report.goals == []


def test_work_without_an_engine_puts_nothing_down(source, tmp_path):
    (tmp_path / "empty").mkdir()
    assert translate.reviewed(read_document(source), tmp_path / "empty") > 0
    assert list((tmp_path / "empty").iterdir()) == []
