"""What the child of an isolated handler does when the handler forks, and how it hears the ledger's answers."""

import pytest

from leasehold import canonical, clock
from leasehold.errors import DatabaseUnavailable, LeaseholdError, LeaseLost, ResultRefused
from leasehold.model.lease import Settlement
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.commit.requests import CommitChannel
from leasehold.runtime.execute.isolated import parent
from tests.support.manual_leases import claim, enrol
from tests.support.processes import fork_app


def drained(app, kind, payload):
    """Run an isolated function of the workshop's on this app."""
    job = app.job(kind.handler.function, name=kind.name, isolated=True).submit(payload)
    app.drain(timeout=60)
    return job


@pytest.mark.parametrize("warm", [True, False])
def test_a_process_that_a_handler_forks_is_refused_by_the_engine(app, warm):
    job = drained(app, fork_app.ask_from_below, {"warm": warm})
    assert job.status == "DONE", job.failure
    assert [(name, code) for name, code, _ in job.output["refused"]] == [
        ("effect", "MISUSE"),
        ("transaction", "MISUSE"),
        ("inputs", "MISUSE"),
        ("progress", "MISUSE"),
    ]
    assert all("A process that a handler forks cannot reach the engine" in text for *_, text in job.output["refused"])
    assert (job.output["inputs"], job.output["own"]) == ({}, 4)


@pytest.mark.parametrize(("how", "code"), [("return", 0), ("exit", 7), ("raise", 1)])
@pytest.mark.parametrize("kind", [fork_app.leave_twice, fork_app.leave_twice_async], ids=["sync", "async"])
def test_a_forked_process_that_leaves_the_handler_does_not_end_the_attempt(app, kind, how, code):
    job = drained(app, kind, {"how": how})
    assert job.status == "DONE", job.failure
    assert job.output == {"left": "above", "code": code, "effect": 1}


def test_many_effects_of_an_async_isolated_handler_need_no_thread_of_its_loop(app):
    job = drained(app, fork_app.crowd, {"number": 50})
    assert job.output == list(range(50)), job.failure


class Refusing(CommitChannel):
    """A line to a ledger that refuses."""

    cancelled = False
    interrupted = False
    lost = False
    stopping = False

    def __init__(self, refusal: LeaseholdError) -> None:
        self._refusal = refusal

    def commit(self, item, reply):
        raise self._refusal

    def transact(self, intent, act):
        raise self._refusal

    def inputs(self):
        return {}

    def report_progress(self, progress):
        return None


class Unheard(LeaseholdError, code="UNHEARD"):
    """An error that no child knows."""


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (LeaseLost(), LeaseLost()),
        (ResultRefused("It is too odd."), ResultRefused("It is too odd.")),
        (DatabaseUnavailable("It is away."), DatabaseUnavailable("It is away.")),
        (Unheard("It is new."), DatabaseUnavailable("It is new.")),
    ],
)
def test_a_child_is_refused_by_the_error_that_the_ledger_raised(app, url, refusal, error):
    kind = app.job(fork_app.return_refusal.handler.function, name="return-refusal", isolated=True)
    kind.submit()
    [lease] = claim(app.store, enrol(app.store), "return-refusal")
    attempt = Attempt(lease, kind.handler, clock.uptime())
    assert attempt.begin()
    ended = parent.run(attempt, Refusing(refusal), url)
    assert isinstance(ended, Settlement)
    assert ended.status == "DONE", ended
    assert canonical.decode(ended.output or "") == [type(error).__name__, str(error)]


def test_an_answer_that_nobody_asked_for_does_not_end_the_listener(app):
    job = drained(app, fork_app.receive_unasked, {})
    assert job.output == [1, 2], job.failure
