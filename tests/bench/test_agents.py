"""The benchmark of agents measures children that ran, and recovers every child that it left."""

from bench.agents import measure_recovery, measure_spawns
from bench.bed import Bed
from bench.report import Report


def test_children_are_run_and_recovered_next_to_their_baselines(store, dialect, postgres):
    report = Report()
    bed = Bed(dialect, store.url, store, postgres)
    assert measure_spawns(bed, 1, report) > 0
    assert measure_recovery(bed, 6, report) > 0
    assert len(report.figures) == 10
