"""Marks of many events at once are the marks of each."""

import json

from hypothesis import given
from hypothesis import strategies as st

from leasehold.model.journal import hash_chain

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
NUMBERS = st.none() | st.integers(0, 2**63 - 1)
ROWS = st.tuples(st.binary(max_size=16), st.integers(0, 2**62), TEXTS, NUMBERS, NUMBERS, NUMBERS, st.none() | TEXTS)


@given(st.lists(ROWS))
def test_marks_of_many_are_the_marks_of_each(rows):
    encoded = json.dumps([[number, before.hex(), *fields] for number, (before, *fields) in enumerate(rows)])
    found = json.loads(hash_chain.marks(encoded))
    assert found == [[number, hash_chain.mark(*row).hex()] for number, row in enumerate(rows)]
