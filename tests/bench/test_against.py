"""Comparing two commits: which figure counts as worse."""

from bench.against import compare, gains


def test_a_rate_is_better_when_it_is_higher_and_a_latency_when_it_is_lower():
    assert gains("postgres: drain, one worker", [90.0], [100.0]) == [0.9]
    assert gains("postgres: submit to start, p50", [2.0], [1.0]) == [0.5]


def test_one_disturbed_round_does_not_make_a_figure_worse(capsys):
    name = "sqlite: drain, one worker"
    assert compare([({name: ours}, {name: 100.0}) for ours in (50.0, 99.0, 101.0)]) == 0
    assert "WORSE" not in capsys.readouterr().out


def test_a_figure_that_lost_more_than_five_percent_is_counted_and_shown(capsys):
    name = "sqlite: drain, one worker"
    assert compare([({name: ours}, {name: 100.0}) for ours in (94.0, 93.0, 120.0)]) == 1
    assert "WORSE" in capsys.readouterr().out


def test_figures_of_one_commit_alone_and_yardsticks_are_not_compared(capsys):
    compare([({"new": 1.0, "DBOS 2: steps": 1.0}, {"old": 1.0, "DBOS 2: steps": 9.0})])
    assert "new" not in capsys.readouterr().out
