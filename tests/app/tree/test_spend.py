"""`submit(budget=…)` and `task.spend`: a tree spends from one budget, never past it (S9), and pays nothing twice."""

import asyncio

import pytest

from leasehold import Budget, BudgetExceeded, LeaseLost, Retry, Transient, clock
from leasehold.errors import BudgetUnknown, Misuse, OptionInvalid, SpendConflict
from tests.support.db import check_journal, connected, rows

AT_ONCE = Retry(attempts=4, delay_initial=0)


def events(url, *names):
    found = rows(url, "SELECT name FROM event ORDER BY id")
    return [name for (name,) in found if name in names]


def test_a_handler_spends_and_reads_what_is_left(app, url):
    left = []

    @app.job
    def ask(task):
        left.append(task.spend("tokens", 30))
        left.append(task.spend("tokens", 30))

    job = ask.submit(budget={"tokens": 100, "calls": 3})
    assert job.budget == {"calls": Budget(3, 0), "tokens": Budget(100, 0)}
    app.drain(timeout=60)
    assert (job.status, left) == ("DONE", [70, 40])
    assert (job.budget["tokens"].spent, job.budget["tokens"].left) == (60, 40)
    assert app.journal.verify(job.id).equal
    check_journal(url)


def test_s9_what_would_pass_the_limit_is_refused_changes_nothing_and_is_not_retried(app, url):
    attempts = []

    @app.job(retry=AT_ONCE)
    def ask(task):
        attempts.append(task.attempt)
        task.spend("tokens", 90)
        task.spend("tokens", 11)

    job = ask.submit(budget={"tokens": 100})
    app.drain(timeout=60)
    assert (job.status, job.failure["error_class"], attempts) == ("ERROR", "BUDGET_EXCEEDED", [1])
    assert "10 of 'tokens' are left; 11 were requested" in job.failure["message"]
    assert job.budget == {"tokens": Budget(100, 90)}
    assert events(url, "spent", "refused") == ["spent", "refused"]


def test_a_handler_may_catch_the_refusal_and_go_another_way_or_be_retried(app):
    @app.job(retry=AT_ONCE)
    def ask(task):
        try:
            task.spend("tokens", 200)
        except BudgetExceeded as refused:
            if task.attempt == 1:
                raise Transient("perhaps later") from refused
            return {"left": task.spend("tokens", 100)}

    job = ask.submit(budget={"tokens": 100})
    app.drain(timeout=60)
    assert (job.status, job.output) == ("DONE", {"left": 0})


@pytest.mark.parametrize("how", ["sync", "async", "awaited later"])
def test_a_handler_that_runs_again_does_not_pay_again(app, how):
    @app.job(retry=AT_ONCE)
    def sync(task):
        left = [task.spend("tokens", 10), task.spend("tokens", 10), task.spend("tokens", 5, key="five")]
        if task.attempt < 3:
            raise Transient("again")
        return [*left, task.spend("tokens", 10)]

    @app.job(retry=AT_ONCE, name="async")
    async def awaited(task):
        left = [await task.spend("tokens", 10), await task.spend("tokens", 10)]
        left.append(await task.spend("tokens", 5, key="five"))
        if task.attempt < 3:
            raise Transient("again")
        return [*left, await task.spend("tokens", 10)]

    @app.job(retry=AT_ONCE, name="awaited_later")
    async def later(task):
        asked = [task.spend("tokens", 10), task.spend("tokens", 10), task.spend("tokens", 5, key="five")]
        left = await asyncio.gather(*asked)
        if task.attempt < 3:
            raise Transient("again")
        last = task.spend("tokens", 10)
        return [*left, await last]

    job = app.submit(how.replace(" ", "_"), budget={"tokens": 100})
    app.drain(timeout=60)
    assert (job.status, job.output) == ("DONE", [90, 80, 75, 65])
    assert job.budget == {"tokens": Budget(100, 35)}


def test_isolated_handlers_spend_and_submit_through_their_worker(app, workers, url):
    """The first attempt of one dies when it has done all of it; the second finds it paid and made."""
    workers.start()
    dying = app.submit("apart_spend", budget={"tokens": 100})
    asynchronous = app.submit("apart_spend_async", budget={"tokens": 40})
    assert dying.wait(timeout=60).output == [70, 65, dying.children[0].id]
    assert dying.budget == {"tokens": Budget(100, 35)}
    assert asynchronous.wait(timeout=60).output == [10, asynchronous.children[0].key]
    children = [*dying.children, *asynchronous.children]
    assert [child.wait(timeout=60).output for child in children] == [8, 9]
    assert events(url, "spent").count("spent") == 3
    assert [app.journal.verify(job.id).difference for job in (dying, asynchronous)] == ["", ""]


def test_equal_spends_are_counted_and_their_order_does_not_matter(app):
    @app.job(retry=AT_ONCE)
    def ask(task):
        for amount in [10, 20, 10] if task.attempt == 1 else [20, 10, 10]:
            task.spend("tokens", amount)
        if task.attempt == 1:
            raise Transient("again")

    job = ask.submit(budget={"tokens": 100})
    app.drain(timeout=60)
    assert job.budget == {"tokens": Budget(100, 40)}


def test_another_amount_in_a_later_attempt_is_another_spend(app):
    @app.job(retry=AT_ONCE)
    def ask(task):
        task.spend("tokens", 10 + task.attempt)
        if task.attempt == 1:
            raise Transient("again")

    job = ask.submit(budget={"tokens": 100})
    app.drain(timeout=60)
    assert job.budget == {"tokens": Budget(100, 11 + 12)}


def test_a_key_that_was_spent_with_another_amount_is_refused(app):
    @app.job
    def ask(task):
        task.spend("tokens", 10, key="call 1")
        task.spend("tokens", 10, key="call 1")
        with pytest.raises(SpendConflict, match=r"It was 10 of 'tokens'; now it is 11\."):
            task.spend("tokens", 11, key="call 1")

    job = ask.submit(budget={"tokens": 100})
    app.drain(timeout=60)
    assert (job.status, job.budget) == ("DONE", {"tokens": Budget(100, 10)})


def test_a_refusal_that_an_async_handler_does_not_await_fails_its_task(app):
    @app.job
    async def ask(task):
        task.spend("tokens", 200)

    job = ask.submit(budget={"tokens": 100})
    app.drain(timeout=60)
    assert (job.status, job.failure["error_class"]) == ("ERROR", "BUDGET_EXCEEDED")


def test_s9_stages_and_segments_spend_from_the_jobs_budget(app):
    film = app.pipeline("film")

    @film.stage
    def script(task):
        task.spend("tokens", 10)
        return {"scenes": list(range(8))}

    @film.stage(after=script, each="scenes")
    def audio(task):
        try:
            task.spend("tokens", 20)
        except BudgetExceeded:
            return "silent"
        return "spoken"

    @film.stage(after=audio)
    def render(task):
        return sorted(task.inputs["audio"])

    job = film.submit(budget={"tokens": 100})
    app.drain(timeout=60)
    assert job.output == {"render": ["silent"] * 4 + ["spoken"] * 4}
    assert job.budget == {"tokens": Budget(100, 90)}
    assert app.journal.verify(job.id).equal


def test_s2_a_lost_lease_spends_nothing_and_learns_it(app, url):
    learnt = []

    @app.job(lease=600)
    def ask(task):
        if task.attempt == 1:
            with connected(url) as connection:
                connection.execute(f"UPDATE lease SET expires_at = {clock.wall() - clock.SECOND}")  # noqa: S608
            with pytest.raises(LeaseLost):
                task.spend("tokens", 10)
            learnt.append(task.attempt)

    job = ask.submit(budget={"tokens": 100})
    app.drain(timeout=60)
    assert (learnt, job.budget) == ([1], {"tokens": Budget(100, 0)})


def test_a_revived_task_does_not_pay_again(app):
    fixed: list[bool] = []

    @app.job(retry=Retry(attempts=1))
    def ask(task):
        task.spend("tokens", 60)
        if not fixed:
            raise Transient("broken")
        return task.spend("tokens", 40)

    job = ask.submit(budget={"tokens": 100})
    app.drain(timeout=60)
    [letter] = app.deadletters.list()
    fixed.append(True)
    app.deadletters.evidence(letter.id, "mended")
    app.deadletters.revive(letter.id)
    app.drain(timeout=60)
    assert (job.status, job.output, job.budget) == ("DONE", 0, {"tokens": Budget(100, 100)})


def test_what_has_no_budget_cannot_be_spent(app):
    @app.job
    def ask(task):
        task.spend("tokens", 1)

    without, other = ask.submit(), ask.submit(budget={"token": 5})
    app.drain(timeout=60)
    assert [one.failure["error_class"] for one in (without, other)] == [BudgetUnknown.code] * 2
    assert "It is 'tokens'." in without.failure["message"]
    assert without.budget == {}


@pytest.mark.parametrize(
    "budget", [{}, {"Tokens": 1}, {"tokens": -1}, {"tokens": 1.5}, {"tokens": True}, 7, ["tokens"]]
)
def test_a_budget_that_is_none_is_refused_before_anything_is_written(app, url, budget):
    app.job(lambda: None, name="ask")
    with pytest.raises(Misuse):
        app.submit("ask", budget=budget)
    assert rows(url, "SELECT count(*) FROM task") == [(0,)]


@pytest.mark.parametrize("amount", [-1, 1.5, "7", True, None, 10**15 + 1])
def test_an_amount_that_is_none_is_refused(app, amount):
    @app.job
    def ask(task):
        with pytest.raises(OptionInvalid):
            task.spend("tokens", amount)

    job = ask.submit(budget={"tokens": 100})
    app.drain(timeout=60)
    assert (job.status, job.budget) == ("DONE", {"tokens": Budget(100, 0)})


def test_nothing_is_spent_inside_an_act(app):
    """Where its result is found on record the act does not run again, and a replay would miss the spend."""

    @app.job
    def ask(task):
        task.effect("CALL", lambda: task.spend("tokens", 1))

    job = ask.submit(budget={"tokens": 100})
    app.drain(timeout=60)
    assert (job.failure["error_class"], job.budget["tokens"].spent) == ("MISUSE", 0)


def test_many_jobs_and_versions_have_a_budget_each_and_keep_it(app):
    ask = app.job(lambda: None, name="ask")
    many = app.submit_many(ask, [{}] * 3, budget={"tokens": 7})
    version = ask.submit(key="k", version=2, budget={"tokens": 8})
    again = ask.submit(key="k", version=2, budget={"tokens": 9})
    assert [one.budget for one in many] == [{"tokens": Budget(7, 0)}] * 3
    assert version.budget == again.budget == {"tokens": Budget(8, 0)}


def test_a_budget_is_committed_with_the_callers_rows_or_not_at_all(app, url):
    ask = app.job(lambda: None, name="ask")
    app.migrate()
    with connected(url) as connection:
        with pytest.raises(OSError, match="no"), app.transaction(connection):  # noqa: PT012
            ask.submit(key="a", budget={"tokens": 7})
            raise OSError("no")
        with app.transaction(connection):
            kept = ask.submit(key="b", budget={"tokens": 7})
    assert kept.budget == {"tokens": Budget(7, 0)}
    assert rows(url, "SELECT count(*) FROM budget") == [(1,)]


def test_a_script_that_holds_a_job_spends_too(app):
    ask = app.job(lambda: None, name="ask")
    job = ask.submit(budget={"tokens": 100})
    held = app.manual.lease(ask, owner="me")
    assert held is not None
    assert held.task.spend("tokens", 30) == 70
    with pytest.raises(BudgetExceeded):
        held.task.spend("tokens", 71)
    held.done()
    assert (job.status, job.budget) == ("DONE", {"tokens": Budget(100, 30)})
