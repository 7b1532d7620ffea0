"""Where a claim looks: the lanes of a queue cover all its priorities once, whatever has been seen."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from leasehold.model.lanes import Hints, Lane
from leasehold.model.lease import Lease
from leasehold.model.limits import PRIORITY_MAX, PRIORITY_MIN


def lease(priority: int, position: int, queue="q") -> Lease:
    return Lease(1, 1, 1, 1, position, 1, "a", None, None, "k", "{}", None, queue, priority, 5, 30_000)


def test_a_queue_never_seen_is_one_lane():
    assert Hints().lanes(["q", "r"]) == [
        Lane("q", PRIORITY_MIN, PRIORITY_MAX, 0),
        Lane("r", PRIORITY_MIN, PRIORITY_MAX, 0),
    ]


def test_a_priority_that_was_seen_has_a_lane_beyond_what_was_taken():
    hints = Hints()
    hints.claimed([lease(5, 10), lease(5, 30), lease(5, 20)])
    assert hints.lanes(["q"]) == [Lane("q", 6, PRIORITY_MAX, 0), Lane("q", 5, 5, 30), Lane("q", PRIORITY_MIN, 4, 0)]


def test_the_outermost_priorities_leave_no_lane_beyond_them():
    hints = Hints()
    hints.claimed([lease(PRIORITY_MAX, 1), lease(PRIORITY_MIN, 2)])
    assert [(lane.low, lane.high) for lane in hints.lanes(["q"])] == [
        (PRIORITY_MAX, PRIORITY_MAX),
        (PRIORITY_MIN + 1, PRIORITY_MAX - 1),
        (PRIORITY_MIN, PRIORITY_MIN),
    ]


def test_hints_of_one_queue_do_not_apply_to_another():
    hints = Hints()
    hints.claimed([lease(0, 10, "q")])
    assert hints.lanes(["r"]) == [Lane("r", PRIORITY_MIN, PRIORITY_MAX, 0)]


def test_forgetting_means_looking_everywhere_again():
    hints = Hints()
    hints.claimed([lease(0, 10)])
    hints.forget()
    assert hints.lanes(["q"]) == Hints().lanes(["q"])


@given(st.lists(st.tuples(st.integers(PRIORITY_MIN, PRIORITY_MAX), st.integers(1, 1000)), max_size=12))
def test_lanes_cover_every_priority_once_from_high_to_low(seen):
    """L3: no priority lies between two lanes."""
    hints = Hints()
    hints.claimed([lease(priority, position) for priority, position in seen])
    lanes = hints.lanes(["q"])
    assert lanes[0].high == PRIORITY_MAX
    assert lanes[-1].low == PRIORITY_MIN
    for above, below in itertools.pairwise(lanes):
        assert above.low == below.high + 1
    furthest = {priority: max(at for other, at in seen if other == priority) for priority, _ in seen}
    assert {lane.low: lane.after for lane in lanes if lane.after} == furthest
