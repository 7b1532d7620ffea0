"""`verify` finds effects that cannot have been so, and results that an attempt did not get."""

# ruff: noqa: S608 — the tests edit tables by name

import contextlib
import json

import pytest
from msgspec import UNSET, to_builtins

from leasehold import Leasehold, Retry, Transient, canonical
from leasehold.insight.read import effects
from leasehold.insight.verify.verify import verify_job
from leasehold.model.effect import sha256, used
from leasehold.model.limits import EFFECTS_MAX
from leasehold.testing import Clock, drain
from tests.insight.edited_records import difference, edit, forge, swap
from tests.store.work import look

RETRY = Retry(attempts=4, delay_initial=10)


@pytest.fixture
def app(url):
    with contextlib.closing(Leasehold(url)) as app:
        yield app


def work(app) -> int:
    """Two attempts with an effect that failed, one that was done, and one that failed and was done then."""

    def refuse(times: list[int]):
        times.append(1)
        if len(times) < 2:
            raise ConnectionResetError("cut off")
        return "made"

    def always():
        raise ConnectionResetError("cut off")

    @app.job(retry=RETRY)
    def order(task):
        task.effect("PAY", lambda: 1)
        if task.attempt == 1:
            with contextlib.suppress(ConnectionResetError):
                task.effect("CALL", always)
        task.effect("MAKE", lambda: refuse(times))

    times: list[int] = []
    clock = Clock(app)
    made = app.submit(order).id
    drain(app, clock)
    assert verify_job(app.store, made).effects == 3
    return made


@pytest.fixture
def worked(copied):
    return copied(work)


@pytest.fixture
def done(worked):
    """An app on a copy of the database in which the job was done."""
    with contextlib.closing(Leasehold(worked[0])) as app:
        yield app


@pytest.fixture
def job(worked) -> int:
    return worked[1]


@pytest.mark.parametrize(
    ("kind", "change", "expected"),
    [
        ("PAY", "number = 0", "the number of its effect 0 (PAY) should be 1 to 10000 and is 0"),
        ("PAY", "fence = 9", "the fence of its effect 1 (PAY) should be that of one of its attempts and is 9"),
        ("PAY", "attempt = 2", "the attempt of its effect 1 (PAY) should be 1 and is 2"),
        ("PAY", "fence = 2", "the attempt of its effect 1 (PAY) should be 2 and is 1"),
        ("PAY", "intended_at = 1", "intended_at of its effect 1 (PAY) should be"),
        ("PAY", "intended_at = intended_at + 60000000, recorded_at = recorded_at + 60000000", "or earlier and is"),
        ("PAY", "recorded_at = intended_at - 1", "recorded_at of its effect 1 (PAY) should be"),
        ("PAY", "recorded_at = NULL", "recorded_at of its effect 1 (PAY) should be a time"),
        ("PAY", "failure = '{}'", "the failure of its effect 1 (PAY), which has a result, should be absent"),
        ("CALL", "recorded_at = NULL", "recorded_at of its effect 2 (CALL) should be a time"),
        ("CALL", "failure = NULL", "recorded_at of its effect 2 (CALL) should be absent"),
        ("CALL", "failure = '{}'", "the failure of its effect 2 (CALL) should be an object with its class"),
        ("CALL", "intended_at = 1", "intended_at of its effect 2 (CALL)"),
        ("MAKE", "intended_at = 1", "intended_at of its effect 3 (MAKE)"),
    ],
)
def test_an_effect_that_cannot_have_been_so_is_named(done, job, kind, change, expected):
    assert difference(done.store, job) == ""
    edit(done.store, f"UPDATE effect SET {change} WHERE kind = '{kind}'")
    assert expected in difference(done.store, job)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"number": 0}, "the number of its effect 0"),
        ({"fence": 9}, "the fence of its effect 1"),
        ({"attempt": 7}, "the attempt of its effect 1"),
        ({"intended_at": 1}, "intended_at of its effect 1"),
        ({"recorded_at": 1}, "recorded_at of its effect 1"),
        ({"recorded_at": None}, "recorded_at of its effect 1"),
        ({"failure": {}}, "the failure of its effect 1"),
        ({"result": UNSET, "recorded_at": None}, "the result of an effect that it used should be"),
    ],
)
def test_an_effect_that_was_edited_in_a_record_is_named(done, job, tmp_path, fields, expected):
    assert expected in forge(done, job, tmp_path, lambda records: swap(records[0].effects, 0, **fields))


def asking(app, *attempts: list[int]) -> int:
    """Run a job whose attempts ask for the effects with these numbers, in this order; all but the last fail."""

    @app.job(retry=RETRY)
    def many(task):
        for number in attempts[task.attempt - 1]:
            task.effect("LOOK", lambda: None, number=number)
        if task.attempt < len(attempts):
            raise Transient("not yet")

    job = app.submit(many).id
    drain(app, Clock(app))
    return job


@pytest.mark.parametrize(
    "last",
    [
        [3, 1, 2],  # few of many, in another order
        [0, 2, 4, 6, 8],  # a part, in the same order
        [1, 2, 3, 4, 5, 10, 11],  # a part, and then new ones
        [10, 11, 12],  # new ones alone
        list(range(1, 10)),  # all but one
        [5, 3, 9, 1, 7, 0, 8, 2, 6, 4, 11, 10],  # more orders than could be tried
    ],
)
def test_the_end_of_an_attempt_names_the_effects_it_used_in_order(app, last):
    job = asking(app, list(range(10)), last)
    keys = {effect.fields["number"]: effect.key for effect in effects.of(app.store, job)}
    ((detail,),) = look(app.store, "SELECT detail FROM event WHERE name = 'done'")
    assert json.loads(detail)["effects"] == [keys[number][:16] for number in last]
    assert verify_job(app.store, job).difference == ""


@pytest.mark.parametrize("last", [[3, 1, 2], [6, 7, 8, 9], [10, 11, 12], [0, 10], [5, 3, 9, 1, 7, 0, 8, 2, 6, 4, 11]])
def test_of_many_results_one_that_was_used_and_edited_is_found(app, last):
    job = asking(app, list(range(10)), last)
    edit(app.store, f"""UPDATE effect SET result = '1' WHERE fields = '{{"number":{last[0]}}}'""")
    assert "the digest of its effects" in difference(app.store, job)


def test_one_that_nobody_used_may_be_missing_but_not_one_that_was(app):
    job = asking(app, list(range(10)), [7, 8, 9])
    edit(app.store, "DELETE FROM effect WHERE number = 1")
    assert difference(app.store, job) == ""
    edit(app.store, "DELETE FROM effect WHERE number = 9")
    assert "the result of an effect that it used should be" in difference(app.store, job)


@pytest.mark.parametrize("names", [2, ["x", 1], "x"])
def test_an_end_that_names_no_effects_where_it_should_is_found(done, job, tmp_path, names):
    def edited(records) -> None:
        detail = {**records[0].events[-1].detail, "effects": names}
        swap(records[0].events, -1, detail=detail)

    assert "the effects it used should be a list of names" in forge(done, job, tmp_path, edited)


def test_the_end_of_an_attempt_with_as_many_effects_as_a_task_may_have_stays_small():
    results = [(sha256(str(number)), sha256("null")) for number in range(EFFECTS_MAX)]
    found = used(results)
    assert len(set(found.effects)) == EFFECTS_MAX
    assert len(canonical.encode(to_builtins(found))) < 192_000
