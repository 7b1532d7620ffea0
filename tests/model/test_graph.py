"""A pipeline as data: what must hold before it may be submitted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.errors import GraphInvalid
from leasehold.model.graph import Definition, Stage, check_graph, children_of
from leasehold.model.limits import STAGES_MAX
from leasehold.model.task import Terms


def stage(name: str, *after: str, each: str | None = None) -> Stage:
    return Stage(name, Terms(), after, each)


def check(*stages: Stage) -> None:
    check_graph("film", stages)


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        ([stage("a", "a")], "waits for itself"),
        ([stage("a", "b"), stage("b", "a")], "in a circle"),
        ([stage("x"), stage("a", "x", "c"), stage("b", "a"), stage("c", "b")], r"\['a', 'b', 'c'\]"),
        ([stage("a", "missing")], "'missing', which does not exist"),
        ([stage("a", each="list")], "waits for no stage"),
        ([stage(f"s{number}") for number in range(STAGES_MAX + 1)], "the limit is 500"),
    ],
    ids=["itself", "pair", "circle", "missing", "each", "many"],
)
def test_a_graph_that_cannot_run_is_refused_with_the_reason(stages, words):
    with pytest.raises(GraphInvalid, match=words) as refused:
        check(*stages)
    assert refused.value.code == "GRAPH_INVALID"


@pytest.mark.parametrize(
    "stages",
    [
        (),
        (stage("a"),),
        (stage("b", "a"), stage("a")),
        (stage("a"), stage("b", "a", each="list"), stage("c", "a"), stage("d", "b", "c")),
    ],
)
def test_a_graph_that_can_run_is_accepted(stages):
    check(*stages)
    assert len(children_of(Definition("film", Terms(), stages), 1, 0, 0)) == len(stages)


@given(st.lists(st.sets(st.integers(0, 9)), min_size=1, max_size=10))
def test_a_graph_is_accepted_exactly_when_it_has_no_circle(needs):
    """Earlier stages only: always fine. One edge forward that closes a circle: never."""
    stages = [
        stage(f"s{number}", *[f"s{other}" for other in sorted(after) if other < number])
        for number, after in enumerate(needs)
    ]
    check(*stages)
    last = len(stages) - 1
    if last > 0 and f"s{0}" in stages[last].after:
        stages[0] = stage("s0", f"s{last}")
        with pytest.raises(GraphInvalid):
            check(*stages)


def test_only_stages_that_wait_for_nothing_are_delayed():
    definition = Definition("film", Terms(), (stage("a"), stage("b", "a", "a"), stage("c", "a", "b", each="list")))
    children = children_of(definition, 7, 3, 1000)
    assert [(child.stage, child.delay_us, child.unmet) for child in children] == [
        ("a", 1000, 0),
        ("b", 0, 1),
        ("c", 0, 2),
    ]
    assert {(child.job_id, child.parent_id, child.priority, child.kind) for child in children} == {(7, 7, 3, "film")}
    assert children[2].each_field == "list"
