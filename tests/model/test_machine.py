"""Declared machines: what is refused, and their states."""

import pytest

from leasehold.errors import MachineInvalid
from leasehold.model.machine import make_machine

GOOD = {"PLANNED": ["LEASED", "SKIPPED"], "LEASED": "DONE"}


def test_a_machine_knows_its_states_in_the_order_in_which_they_were_declared():
    assert make_machine("parcel", GOOD, initial="PLANNED").states == ("PLANNED", "LEASED", "SKIPPED", "DONE")


@pytest.mark.parametrize(
    ("arrows", "initial", "expected"),
    [
        ({}, "PLANNED", "0 arrows"),
        (GOOD, "NOWHERE", "from 'NOWHERE' to 'PLANNED'"),
        (GOOD | {"LOST": "FOUND"}, "PLANNED", "to 'LOST'"),
        (GOOD | {"DONE": "a b"}, "PLANNED", "'a b'"),
        (GOOD | {"DONE": ""}, "PLANNED", "''"),
        (GOOD | {"DONE": ['"}']}, "PLANNED", "called"),
        (GOOD | {"DONE": [7]}, "PLANNED", "called 7"),
        ({"A": [f"B{number}" for number in range(1_001)]}, "A", "1001 arrows"),
    ],
)
def test_a_machine_that_cannot_be_gone_through_is_refused(arrows, initial, expected):
    with pytest.raises(MachineInvalid, match=expected):
        make_machine("parcel", arrows, initial=initial)


def test_a_circle_is_no_mistake():
    rework = {"made": "reviewed", "reviewed": ["approved", "rework"], "rework": "made"}
    assert len(make_machine("text", rework, initial="made").states) == 4
