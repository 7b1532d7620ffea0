"""A run becomes a document and charts, again and again the same."""

from xml.etree import ElementTree as ET

import pytest

from bench.compare import document
from bench.compare.chart import Bar, Chart, nice, short
from bench.compare.figures import Results, Sample, load
from bench.compare.goals import judge

SVG = "{http://www.w3.org/2000/svg}"


def a_run() -> Results:
    facts = {
        "date": "2026-01-01 00:00 UTC", "commit": "abc", "repeats": 3, "is_quick": False, "seconds": 5, "settled": 10,
        "recovery_limit": 60, "cores": 2, "memory_gib": 8, "system": "Linux x86_64", "python": "3.11", "postgres": "18",
        "postgres_settings": {"fsync": "on"}, "sqlite": "3.54", "versions": {"leasehold": "", "huey": "huey 3"},
        "settings": {"leasehold": "as it is", "huey": "4 threads"},
        "histories": {"postgres leasehold": "10 rows by INSERT into its own tables"},
    }  # fmt: skip
    results = Results(facts)
    for repeat, rate in enumerate((2_000.0, 1_000.0, 3_000.0)):
        results.add(Sample("sqlite", "leasehold", "drain 1", repeat, rate))
        results.add(Sample("sqlite", "huey", "drain 1", repeat, rate / 50))
        results.add(Sample("postgres", "leasehold", "recovery", repeat, 1.1))
        results.add(Sample("postgres", "dbos", "recovery", repeat, None, "not within 60 s"))
    results.missing.append(("sqlite", "huey", "history", "it keeps no settled rows"))
    return results


def test_the_same_results_are_written_as_the_same_documents(tmp_path):
    a_run().save(tmp_path / "run.json")
    for name in ("one", "two"):
        document.write(load(tmp_path / "run.json"), tmp_path / name)
    one, two = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in ("one", "two")
    )
    assert one == two
    assert len(one) == 3


def test_the_document_has_medians_spread_ratios_and_what_is_missing():
    text = document.markdown(a_run())
    assert "| leasehold | 2,000 | 1,000 | 3,000 |" in text
    assert "| reached | SQLite: No-op drain, one worker process | huey | 50.00 × | ≥ 20 × |" in text
    assert "| dbos | not within 60 s | – | – |" in text
    assert "| huey | huey 3 | 4 threads |" in text
    assert "- SQLite, huey, history: it keeps no settled rows." in text


def test_a_figure_with_a_remark_has_a_star_and_a_footnote():
    results = a_run()
    for repeat in range(3):
        results.add(Sample("sqlite", "dbos", "drain 1", repeat, 5.0, "stopped after 30 s"))
    text = document.markdown(results)
    assert "| dbos | 5 * | 5 | 5 |" in text
    assert "\\* dbos: stopped after 30 s." in text


def test_the_overview_has_all_medians_and_the_best_in_bold():
    text = document.markdown(a_run())
    assert "| No-op drain, one worker process (jobs/s) | **2,000** | 40 |" in text
    assert "| Recovery after SIGKILL, another worker is there (s) | **1.10** | not within 60 s |" in text


def test_the_document_counts_the_goals_that_were_reached():
    assert "3 of 3 reached" in document.markdown(a_run())


def test_every_chart_that_the_document_shows_is_written(tmp_path):
    document.write(a_run(), tmp_path)
    text = (tmp_path / "benchmark.md").read_text()
    shown = {line.partition("](")[2].rstrip(")") for line in text.splitlines() if line.startswith("![")}
    assert shown == {f"bench/{path.name}" for path in (tmp_path / "bench").glob("*.svg")}


def test_the_terminal_shows_every_goal_and_figure():
    shown = document.terminal(a_run(), judge(a_run()))
    assert "2,000 (1,000–3,000)" in shown
    assert shown.count("not compared") == 13


def test_a_chart_is_well_formed_and_its_text_is_text():
    bars = [Bar("ours <1>", 10.0, "10", 8.0, 12.0, is_ours=True), Bar("other", None, "not within 60 s")]
    root = ET.fromstring(Chart("Rates & more", "jobs/s", bars).svg())  # noqa: S314 - our own
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"Rates & more", "jobs/s", "ours <1>", "10", "not within 60 s"} <= set(texts)
    assert [element.get("class") for element in root.iter(f"{SVG}rect")] == ["ours", "open"]


@pytest.mark.parametrize(("value", "end"), [(0.0, 1.0), (0.7, 0.8), (9.0, 10.0), (41_000.0, 50_000.0), (10.0, 10.0)])
def test_an_axis_ends_at_the_next_round_number(value, end):
    assert nice(value) == pytest.approx(end)


def test_numbers_on_an_axis_are_short():
    assert [short(value) for value in (0.0, 0.25, 950.0, 12_500.0)] == ["0", "0.25", "950", "12.5k"]
