"""Replays of spends and linked jobs: answered from the events; what differs from them is the divergence."""

import json

from leasehold import BudgetExceeded, Leasehold, Retry
from tests.replay.test_replay import diverged


def details(path, name):
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [line["detail"] for line in lines if line.get("name") == name]


def test_a_record_has_spends_refusals_and_linked_jobs_without_a_number_of_its_database(records):
    assert details(records["session"], "budgeted") == [{"limits": {"tokens": 100}}]
    assert [(one["amount"], one["left"]) for one in details(records["session"], "spent")] == [
        (10, 90), (10, 80), (30, 50),
    ]  # fmt: skip
    assert [one["left"] for one in details(records["session"], "refused")] == [80]
    assert [sorted(one) for one in details(records["session"], "linked")] == [["job", "key", "kind", "payload"]] * 2


def session(spends, submits, *, catches=True):
    """Make a handler that spends these amounts, then submits these kinds under these keys."""

    def session(task, names):
        for amount in spends:
            try:
                task.spend("tokens", amount, key="the cheap way" if amount == 30 else None)
            except BudgetExceeded:
                if not catches:
                    raise
        for key, number in submits:
            assert task.submit("apart", {"number": number}, key=key).id == 0

    return session


CHILDREN = [("ä", 1), ("bc", 2)]


def test_a_spend_that_is_not_on_record_is_the_divergence(records):
    assert diverged(records["session"], session([10, 10, 11], CHILDREN)) == ("spend", None, "11 tokens")


def test_a_spend_that_is_not_made_again_is_the_divergence(records):
    what, expected, found = diverged(records["session"], outputting(records, session([10, 10, 90], CHILDREN)))
    assert (what, found) == ("spend", None)
    assert '"amount":30' in (expected or "")


def test_what_was_refused_then_is_refused_now(records):
    assert diverged(records["session"], session([10, 10, 90], CHILDREN, catches=False)) == (
        "status",
        "DONE",
        "ERROR BUDGET_EXCEEDED",
    )


def test_a_linked_job_that_is_not_on_record_or_with_another_payload_is_the_divergence(records):
    what, expected, _ = diverged(records["session"], session([10, 10, 90, 30], [*CHILDREN, ("c", 3)]))
    assert (what, expected) == ("linked job 'c'", None)
    what, expected, found = diverged(records["session"], session([10, 10, 90, 30], [("ä", 2)]))
    assert what == "linked job 'ä'"
    assert expected != found


def outputting(records, handler):
    """Have a handler return what was recorded, so that only what it asked for differs."""
    lines = [json.loads(line) for line in records["session"].read_bytes().splitlines()]
    output = next(line["output"] for line in lines if line["line"] == "outcome")

    def session(task, names):
        handler(task, names)
        return output

    return session


def test_a_linked_job_that_is_not_submitted_again_is_no_divergence_if_an_earlier_attempt_made_it(records):
    """The first attempt made both, and the end of the second does not name them."""
    app = Leasehold("sqlite:////nowhere/at/all.db")
    app.job(retry=Retry(attempts=4, delay_initial=10, delay_max=60))(outputting(records, session([10, 10, 90, 30], [])))
    assert app.journal.replay(records["session"]).equal
