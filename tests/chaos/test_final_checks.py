"""What a storm is checked for in addition to the oracle: how soon what it took from its workers was picked up again."""

import pytest

from tests.chaos.figures import SECOND, Fault, Outage, Proof, Repickups, percentile, repickups
from tests.chaos.final_checks import late

ROWS: dict[str, list[tuple]] = {
    "worker": [(1, 101), (2, 102)],
    "event": [
        (7, 10 * SECOND, "claimed", 1),
        (7, 14 * SECOND, "reclaimed", 1),
        (7, 15 * SECOND, "claimed", 2),
        (8, 10 * SECOND, "claimed", 2),
        (8, 14 * SECOND, "reclaimed", 2),
        (8, 16 * SECOND, "claimed", 1),
        (9, 13 * SECOND, "claimed", 1),
        (9, 17 * SECOND, "reclaimed", 1),
        (9, 18 * SECOND, "claimed", 2),
    ],
}


def look(query: str) -> list[tuple]:
    return ROWS["worker" if "FROM worker" in query else "event"]


def proof_of(seconds: list[float], *, reclaimed: int = 9, spared: str = "") -> Proof:
    found = Repickups.of(seconds)
    return Proof("kills", "sqlite", {"reclaimed": reclaimed}, {}, 1.0, 3.0, found, [], spared=spared)


def test_a_repickup_lasts_from_the_fault_to_the_next_claim_of_what_its_worker_held():
    assert repickups(look, [Fault(12 * SECOND, 101)], []) == [3.0]
    assert sorted(repickups(look, [Fault(12 * SECOND, 0)], [])) == [3.0, 4.0]
    assert repickups(look, [Fault(9 * SECOND, 101), Fault(20 * SECOND, 101)], []) == []


def test_what_a_worker_claimed_while_it_was_being_struck_is_taken_from_it_too():
    assert repickups(look, [Fault(13 * SECOND - 1, 101)], []) == [15 - 13 + 1e-6, 5.0]


def test_a_repickup_counts_from_the_first_fault_that_no_lease_outlives():
    first, last = Fault(11 * SECOND, 0, is_deadly=False), Fault(12 * SECOND, 0, is_deadly=False)
    assert sorted(repickups(look, [first, last], [])) == [3.0, 4.0]
    assert sorted(repickups(look, [Fault(11 * SECOND, 0), last], [])) == [4.0, 5.0]


def test_the_time_in_which_nobody_could_pick_up_anything_is_not_counted():
    faults = [Fault(12 * SECOND, 101)]
    assert repickups(look, faults, [Outage(11 * SECOND, 13 * SECOND)]) == [2.0]
    assert repickups(look, faults, [Outage(13 * SECOND, 14 * SECOND), Outage(16 * SECOND, 19 * SECOND)]) == [2.0]


def test_a_percentile_is_one_of_the_values():
    assert percentile(range(1, 101), 0.99) == 99
    assert percentile([4.0, 1.0], 0.5) == 1.0
    assert percentile([], 0.99) is None


def test_l1_a_long_storm_is_held_against_the_lease_and_two_seconds_and_a_short_one_is_not():
    slow = proof_of([5.1])
    assert late(slow, owed=1, long=True) == ["L1: p99 of re-pickup is 5.10 s, its bound 5 s"]
    assert late(slow, owed=1, long=False) == []
    assert late(proof_of([4.9]), owed=1, long=True) == []


@pytest.mark.parametrize("long", [True, False])
def test_l1_a_storm_whose_faults_take_leases_has_repickups(long):
    assert "nothing was picked up again" in late(proof_of([]), owed=1, long=long)[0]
    assert late(proof_of([1.0], reclaimed=2), owed=3, long=long) == [
        "L1: 3 faults took leases, and 2 leases were taken back"
    ]


def test_l1_a_long_storm_without_repickups_names_the_reason():
    assert "no reason is given" in late(proof_of([]), owed=0, long=True)[0]
    assert late(proof_of([], spared="Nobody is lost."), owed=0, long=True) == []
    assert late(proof_of([9.0], spared="Nobody is lost."), owed=0, long=True) != []
