"""Goals are ratios of medians: which side, which peer, reached or not."""

from bench.compare.document import against
from bench.compare.figures import Results, Sample
from bench.compare.goals import Judged, judge


def results(**rates: float | None) -> Results:
    """Make results from names such as `postgres__dbos__steps`; a hyphen is written as one underscore."""
    made = Results({"recovery_limit": 60.0})
    for name, value in rates.items():
        database, peer, metric = name.split("__")
        made.add(Sample(database, peer.replace("_", "-"), metric.replace("_", " "), 0, value))
    return made


def judged(made: Results, name: str, other: str) -> Judged:
    return next(goal for goal in judge(made) if (goal.name, goal.other) == (name, other))


def test_a_drain_is_compared_with_the_fastest_python_peer_and_with_graphile():
    made = results(
        postgres__leasehold__drain_1=3_000.0,
        postgres__pgqueuer__drain_1=1_000.0,
        postgres__awa_pg__drain_1=1_400.0,
        postgres__graphile_worker__drain_1=2_500.0,
    )
    assert judged(made, "postgres: drain 1", "awa-pg").reached
    assert judged(made, "postgres: drain 1", "graphile-worker").reached is False


def test_a_median_call_may_not_be_slower_than_the_fastest_on_the_same_database():
    made = results(
        postgres__leasehold__single_p50=1.1, postgres__dbos__single_p50=3.0, postgres__awa_pg__single_p50=1.0
    )
    goal = judged(made, "postgres: single p50", "awa-pg")
    assert goal.value == 1.1
    assert goal.reached is False


def test_peers_that_never_recover_took_longer_than_the_limit():
    made = results(postgres__leasehold__recovery=1.2, postgres__dbos__recovery=None)
    assert judged(made, "recovery", "seconds").reached
    goal = judged(made, "postgres: recovery", "all, at the limit")
    assert goal.value == 1.2 / 60
    assert goal.reached


def test_full_tables_are_compared_with_our_own_drain():
    made = results(postgres__leasehold__drain_1=100.0, postgres__leasehold__history=79.0, postgres__dbos__history=500.0)
    assert judged(made, "postgres: history", "our own drain").reached is False


def test_a_ratio_without_one_of_its_sides_is_neither_reached_nor_missed():
    assert all(goal.reached is None for goal in judge(results(postgres__dbos__steps=1.0)))


def test_a_goal_names_the_system_that_should_have_been_compared_and_was_not():
    made = results(postgres__leasehold__drain_1=3_000.0, postgres__awa_pg__drain_1=1_400.0, sqlite__huey__drain_1=1.0)
    made.missing.append(("postgres", "pgqueuer", "everything", "no index"))
    made.missing.append(("postgres", "dbos", "drain1", "failed in repeat 2: x"))
    made.missing.append(("postgres", "procrastinate", "drain2", "failed in repeat 2: x"))
    made.missing.append(("sqlite", "awa-pg", "drain1", "another database"))
    assert judged(made, "postgres: drain 1", "awa-pg").without == ("pgqueuer", "dbos")
    assert against(judged(made, "postgres: drain 1", "awa-pg")) == "awa-pg (not complete: pgqueuer, dbos)"
