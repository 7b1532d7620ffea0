"""Strict JSON at the edge: what one database keeps the other keeps, and what cannot be kept is refused before."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leasehold import canonical
from leasehold.model.failure.failure import classify
from leasehold.model.lease import failed
from leasehold.model.names import reason_of
from tests.store import work
from tests.store.work import claim, claim_one, finish, look, status, submit
from tests.support.properties import examples

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS | TEXT, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=15
)
HARD_TEXTS = [
    "\\u0000", "\\", '"', "'", "%s", ":x", "$$", "\u2028\u2029", "\x1b[31m", "\x7f\x80\x9f", "\ufffe\uffff",
    "\U0010ffff", "𝒳", "a\r\n\tb", "e\u0301 é", "\u202e", "{}", "null",
]  # fmt: skip


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=VALUES)
def test_every_value_that_is_accepted_comes_back_as_it_was(store, worker, value):
    text = canonical.encode(value)
    made = store.tasks.submit([work.job(text[:100] or "x", payload={"value": value}, kind="a")])
    leases = claim(store, worker)
    assert [json.loads(lease.payload)["value"] for lease in leases] in ([value], [])
    finish(store, leases, value)
    assert json.loads(store.reports.job(made[0].id).payload) == {"value": value}
    if leases:
        assert store.reports.job(leases[0].task_id).output == text


@pytest.mark.parametrize("text", HARD_TEXTS)
def test_hard_texts_are_kept_byte_for_byte(store, worker, text):
    (task,) = submit(store, "k", payload={text: text})
    finish(store, [claim_one(store, worker)], [text])
    row = store.reports.job(task)
    assert (json.loads(row.payload), json.loads(row.output)) == ({text: text}, [text])


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a\0b"),
        ValueError("lone \ud800 surrogate"),
        ValueError(float("nan")),
        ValueError("x" * 50_000_000),
        ValueError("\0" * 10_000),
        ValueError("[" * 100_000),
        Unprintable(),
        KeyError("\x1b[2J"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    ],
    ids=["nul", "surrogate", "nan", "50MB", "nuls", "deep", "unprintable", "escape", "unicode"],
)
def test_any_exception_text_can_be_recorded(store, worker, error):
    (task,) = submit(store, "k")
    (landed,) = store.leases.settle([failed(claim_one(store, worker), classify(error))])
    assert landed.status == "ERROR"
    found = work.failure(store, task)
    assert found["message"]
    assert len(found["message"]) < 5000


@pytest.mark.parametrize(
    "reason", ["a\0b", "\ud800", "x" * 50_000_000, object()], ids=["nul", "surrogate", "50MB", "object"]
)
def test_any_reason_can_be_given_for_a_cancel(store, reason):
    (task,) = submit(store, "k")
    store.tasks.cancel(task, canonical.encode({"message": reason_of(reason)}))
    assert status(store, task) == "CANCELLED"
    assert len(look(store, "SELECT failure FROM outcome")[0][0]) < 3000


def test_a_result_at_the_limit_is_kept_whole(store, worker):
    largest = "x" * (canonical.VALUE_BYTES_MAX - 2)
    (task,) = submit(store, "k")
    finish(store, [claim_one(store, worker)], largest)
    assert len(store.reports.job(task).output) == canonical.VALUE_BYTES_MAX


def test_the_deepest_value_that_is_allowed_is_kept(store, worker):
    value: list = []
    for _ in range(canonical.DEPTH_MAX - 2):
        value = [value]
    (task,) = submit(store, "k", payload={"deep": value})
    finish(store, [claim_one(store, worker)], {"deep": value})
    assert json.loads(store.reports.job(task).output) == {"deep": value}
