"""`task.submit`: linked jobs, made once, cancelled with their parent (S10), in one tree."""

import threading

import pytest

from leasehold import Budget, Cancelled, LinkedJob, Permanent, Retry, Transient
from leasehold.errors import ArgumentsInvalid, KeyConflict, KindUnknown, OptionInvalid, PayloadInvalid
from tests.support.db import check_journal, check_places, rows
from tests.support.wait import until

AT_ONCE = Retry(attempts=4, delay_initial=0)


def scanner(app):
    @app.job
    def scan(n: int):
        return n * 2

    return scan


@pytest.mark.parametrize("how", ["sync", "async", "awaited_later"])
def test_a_child_is_made_once_however_often_the_handler_runs(app, url, how):
    scan = scanner(app)

    @app.job(retry=AT_ONCE)
    def sync(task):
        child = task.submit("scan", {"n": 1}, key="scan:1")
        if task.attempt < 3:
            raise Transient("again")
        return [child.id, child.kind, child.key]

    @app.job(retry=AT_ONCE, name="async")
    async def awaited(task):
        child = await task.submit(scan, {"n": 1}, key="scan:1")
        if task.attempt < 3:
            raise Transient("again")
        return [child.id, child.kind, child.key]

    @app.job(retry=AT_ONCE, name="awaited_later")
    async def later(task):
        pending = task.submit(scan, {"n": 1}, key="scan:1")
        if task.attempt < 3:
            raise Transient("again")
        child = await pending
        return [child.id, child.kind, child.key]

    job = app.submit(how)
    app.drain(timeout=60)
    [child] = job.children
    assert (job.status, job.output) == ("DONE", [child.id, "scan", child.key])
    assert (child.status, child.output, child.payload) == ("DONE", 2, {"n": 1})
    assert (child.parent.id, job.parent) == (job.id, None)
    assert child.key.startswith("scan:1~")
    assert rows(url, "SELECT count(*) FROM event WHERE name = 'linked'") == [(1,)]
    assert app.journal.verify(job.id).equal
    check_journal(url)
    check_places(url)


def test_a_pipeline_and_each_of_its_segments_may_submit_and_be_submitted(app):
    scan = scanner(app)
    film = app.pipeline("film")

    @film.stage
    def script(task):
        return {"scenes": [1, 2, 3]}

    @film.stage(after=script, each="scenes")
    def audio(task):
        return task.submit(scan, {"n": task.segment}, key="scan").key

    @app.job
    def session(task):
        task.submit(film, key="film")

    job = app.submit("session")
    app.drain(timeout=60)
    [made] = job.children
    assert (made.kind, made.status) == ("film", "DONE")
    assert sorted(child.output for child in made.children) == [2, 4, 6]
    assert len({child.key for child in made.children}) == 3


def test_what_a_handler_must_not_submit_is_refused_by_name(app):
    scan = scanner(app)
    refused = []

    @app.job
    def ask(task):
        cases = (
            (KindUnknown, "scann", {"n": 1}, "a"),
            (ArgumentsInvalid, scan, {"m": 1}, "b"),
            (PayloadInvalid, scan, ["n"], "c"),
            (PayloadInvalid, scan, {"n": {1}}, "d"),
            (OptionInvalid, scan, {"n": 1}, ""),
            (OptionInvalid, scan, {"n": 1}, "k" * 496),
        )
        for error, kind, payload, key in cases:
            with pytest.raises(error):
                task.submit(kind, payload, key=key)
            refused.append(key)
        task.submit(scan, {"n": 1}, key="e")
        with pytest.raises(KeyConflict, match="linked under the key 'e'"):
            task.submit(scan, {"n": 2}, key="e")

    job = app.submit("ask")
    app.drain(timeout=60)
    assert (job.status, len(refused), len(job.children)) == ("DONE", 6, 1), job.failure


def test_nothing_is_submitted_inside_an_act(app):
    scan = scanner(app)

    @app.job
    def ask(task):
        task.effect("CALL", lambda: task.submit(scan, {"n": 1}, key="a"))

    job = app.submit("ask")
    app.drain(timeout=60)
    assert (job.failure["error_class"], job.children) == ("MISUSE", [])


def test_s9_children_spend_from_the_budget_of_the_root(app):
    @app.job
    def leaf(task, n: int):
        return task.spend("tokens", n)

    @app.job
    def root(task):
        task.spend("tokens", 10)
        for n in (20, 30, 41):
            task.submit(leaf, {"n": n}, key=str(n))

    job = root.submit(budget={"tokens": 100})
    app.drain(timeout=60)
    ends = sorted((child.payload["n"], child.status.value) for child in job.children)
    assert ends == [(20, "DONE"), (30, "DONE"), (41, "ERROR")]
    assert job.budget == job.children[0].budget == {"tokens": Budget(100, 60)}


def test_s10_a_cancel_stops_the_whole_tree_and_every_end_names_the_request(app):
    began, ended = threading.Semaphore(0), []

    @app.job
    def leaf(task):
        began.release()
        until(lambda: task.cancelled)
        ended.append(task.lease.task_id)
        raise Cancelled

    @app.job
    def root(task):
        task.submit(leaf, key="leaf")
        task.submit(leaf, key="late", delay=3600)
        began.release()
        until(lambda: task.cancelled)
        with pytest.raises(Cancelled):
            task.submit(leaf, key="too late")
        raise Cancelled

    job = root.submit(key="tree")
    worker = threading.Thread(target=lambda: app.drain(timeout=60))
    worker.start()
    began.acquire(timeout=60)
    began.acquire(timeout=60)
    app.cancel(job, reason="no longer needed", request="request-7")
    app.cancel(job, reason="twice", request="request-8")
    worker.join()
    tree = [job, *job.children]
    assert [one.status for one in tree] == ["CANCELLED"] * 3
    for one in tree:
        assert (one.failure["message"], one.failure["context"]["cancel_request"]) == ("no longer needed", "request-7")
        assert one.failure["context"]["cancelled_job"] == "root tree"
    assert len(ended) == 1
    assert all(app.journal.verify(one.id).equal for one in tree)


def test_a_cancel_without_a_name_is_named_after_its_job_and_its_reason(app):
    scan = scanner(app)
    one, same, other = (scan.submit({"n": 1}, key=key) for key in ("a", "b", "c"))
    names = [job.cancel(reason).failure["context"]["cancel_request"] for job, reason in ((one, "x"), (same, "x"))]
    assert len({*names, other.cancel("y").failure["context"]["cancel_request"]}) == 3
    assert names[0] == one.cancel("z").failure["context"]["cancel_request"]


def test_a_parent_that_fails_or_ends_leaves_its_children_alone(app):
    scan = scanner(app)

    @app.job
    def root(task, *, fails: bool):
        task.submit(scan, {"n": 1}, key="one")
        if fails:
            raise Permanent("no")

    jobs = [app.submit(root, {"fails": fails}) for fails in (True, False)]
    app.drain(timeout=60)
    assert [job.status for job in jobs] == ["ERROR", "DONE"]
    assert [job.children[0].status for job in jobs] == ["DONE", "DONE"]


def test_a_revived_parent_finds_its_children_again(app):
    scan = scanner(app)
    fixed: list[bool] = []

    @app.job
    def root(task):
        child = task.submit(scan, {"n": 1}, key="one")
        if not fixed:
            raise Permanent("broken")
        return child.key

    job = app.submit(root)
    app.drain(timeout=60)
    [letter] = app.deadletters.list()
    fixed.append(True)
    app.deadletters.evidence(letter.id, "mended")
    app.deadletters.revive(letter.id)
    app.drain(timeout=60)
    assert (job.status, [child.key for child in job.children]) == ("DONE", [job.output])


def test_a_script_that_holds_a_job_submits_too(app):
    scan = scanner(app)
    ask = app.job(lambda: None, name="ask")
    job = app.submit(ask)
    held = app.manual.lease(ask, owner="me")
    assert held is not None
    made = held.task.submit(scan, {"n": 4}, key="four")
    assert made == held.task.submit(scan, {"n": 4}, key="four") == LinkedJob(job.children[0].id, "scan", made.key)
    held.done()
    app.drain(timeout=60)
    assert app.find("scan", made.key).output == 8
