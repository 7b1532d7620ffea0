"""Samples become medians with their spread, and survive a file."""

import pytest

from bench.compare.figures import Results, Sample, load, percentile, summarise


def sample(value: float | None, repeat: int = 0, note: str = "", metric: str = "drain 1") -> Sample:
    return Sample("postgres", "leasehold", metric, repeat, value, note)


def test_a_summary_is_the_median_with_least_and_most():
    found = summarise([sample(30.0), sample(10.0), sample(20.0)])
    assert found is not None
    assert (found.median, found.least, found.most, found.count) == (20.0, 10.0, 30.0, 3)


def test_what_was_never_measured_has_no_summary():
    assert summarise([]) is None


def test_a_limit_that_passed_counts_as_longer_than_every_figure():
    mostly = summarise([sample(1.0), sample(None, note="not within 60 s"), sample(2.0)])
    assert mostly is not None
    assert (mostly.median, mostly.note) == (2.0, "not within 60 s")
    rarely = summarise([sample(1.0), sample(None, note="not within 60 s"), sample(None, note="not within 60 s")])
    assert rarely is not None
    assert (rarely.median, rarely.least, rarely.note) == (None, 1.0, "not within 60 s")


@pytest.mark.parametrize(("share", "expected"), [(0.5, 50.0), (0.95, 95.0), (1.0, 100.0), (0.0, 1.0)])
def test_a_percentile_is_a_value_that_was_measured(share, expected):
    assert percentile([float(value) for value in range(1, 101)], share) == expected


def test_results_read_from_a_file_are_those_that_were_written(tmp_path):
    results = Results({"commit": "abc"}, [sample(1.5), sample(None, 1, "not within 60 s")])
    results.missing.append(("sqlite", "huey", "history", "it keeps no settled rows"))
    results.save(tmp_path / "deep" / "run.json")
    assert load(tmp_path / "deep" / "run.json") == results


def test_ours_is_listed_first_and_the_others_as_they_came():
    results = Results({})
    for peer in ("huey", "leasehold", "dbos"):
        results.add(Sample("sqlite", peer, "bulk", 0, 1.0))
    assert results.peers("sqlite") == ["leasehold", "huey", "dbos"]
