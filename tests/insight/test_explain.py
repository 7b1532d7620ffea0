"""`job.explain()`: for every status a true sentence, and what to do about it."""

import asyncio

import pytest

from leasehold import CauseCode, JobUnknown, Permanent, Retry, Transient
from leasehold.model.failure import loss
from leasehold.model.lease import Progress, done
from leasehold.model.owner import Owner
from leasehold.runtime.process_identity import this_process
from leasehold.store.workers import Serving
from leasehold.testing import Clock
from tests.support.db import connected, rows
from tests.support.manual_leases import claim, enrol
from tests.support.wait import until

ELSEWHERE = Owner("elsewhere", "another boot", "another namespace", 7, 7)


@pytest.fixture
def clock(app):
    return Clock(app)


def serve(app, *routes, queues=("default",), concurrency=10, owner=None) -> int:
    """Register this process as a worker that serves these."""
    served = queues if isinstance(queues, dict) else dict.fromkeys(queues)
    return app.store.workers.register(owner or this_process(), Serving(served, routes, concurrency))


def add_kind(app, name="welcome", **options):
    @app.job(name=name, **options)
    def handler(n: int = 0): ...

    return handler


def check_explained(job, code, why, advice):
    found = job.explain()
    assert (found.code, len(found.causes)) == (code, 1)
    assert why in found.why, found.why
    assert advice in found.advice, found.advice
    return found


def test_a_job_without_any_worker_needs_one(app):
    job = add_kind(app).submit()
    check_explained(job, CauseCode.NO_WORKER, "It is ready, and no worker is running.", "`leasehold worker MODULE:APP`")
    app.store.workers.register(this_process())  # an orchestrator runs nothing
    check_explained(job, CauseCode.NO_WORKER, "no worker is running", "the app that has 'welcome'")


def test_a_kind_that_no_live_worker_has_is_named_with_what_the_workers_have(app):
    job = add_kind(app).submit()
    serve(app, "invoice", "refund")
    me = this_process()
    why = f"no live worker has a handler for 'welcome' ({me} has invoice, refund)"
    check_explained(job, CauseCode.KIND_UNSERVED, why, "`leasehold worker MODULE:APP`")


def test_a_queue_that_no_worker_with_the_kind_serves_is_named_with_what_they_serve(app):
    job = add_kind(app, queue="mail").submit()
    serve(app, "welcome", queues=["default", "slow"])
    why = "no live worker that has 'welcome' serves the queue 'mail'"
    check_explained(job, CauseCode.QUEUE_UNSERVED, why, "`leasehold worker MODULE:APP --queue mail`")
    assert "serves default, slow" in job.explain().why


def test_a_paused_queue_is_named_with_the_command_that_resumes_it(app):
    kind = add_kind(app, queue="mail")
    job, branched = kind.submit(), kind.submit(branch="example.org")
    serve(app, "welcome", queues=["mail"])
    app.queues.pause("mail/*")
    check_explained(branched, CauseCode.QUEUE_PAUSED, "'mail/*' is paused", "`leasehold queues resume 'mail/*'`")
    check_explained(job, CauseCode.ABOUT_TO_START, "it is the next of its queue", "Wait.")
    app.queues.pause("mail")
    check_explained(job, CauseCode.QUEUE_PAUSED, "the queue 'mail' is paused", "`leasehold queues resume mail`")


def test_a_full_limit_is_shown_with_who_holds_it(app, clock):
    kind = add_kind(app, queue="mail")
    holders = [kind.submit({"n": n}, key=f"h{n}") for n in range(5)]
    job = kind.submit(key="last", branch=None)
    app.queues.limit("mail", 5)
    worker = serve(app, "welcome", queues=["mail"])
    taken = app.store.leases.claim_limited(worker, "mail", '["welcome"]', 5).leases
    assert len(taken) == 5
    clock.advance(185)
    found = check_explained(job, CauseCode.LIMIT_FULL, "5 of 5 are held, by", "`leasehold queues limit mail 10`")
    assert f"job {holders[0].id} (welcome, for 3 min 5 s on {this_process()})" in found.why
    assert found.why.endswith("and 2 more.")


def test_a_rate_is_shown_with_the_next_start(app, clock):
    kind = add_kind(app, queue="web")
    first, job = kind.submit(branch="a.example"), kind.submit(branch="a.example")
    app.queues.limit("web/*", 2, rate=0.1)
    worker = serve(app, "welcome", queues=["web"])
    app.store.leases.claim_limited(worker, "web/a.example", '["welcome"]', 1)
    app.store.leases.claim_limited(worker, "web/a.example", '["welcome"]', 1)
    assert [one.status for one in (first, job)] == ["RUNNING", "RUNNING"]
    third = kind.submit(branch="a.example")
    check_explained(third, CauseCode.LIMIT_FULL, "2 of 2 are held", "`leasehold queues limit 'web/*' 4 --rate 0.1`")
    app.store.leases.settle([done(app.store.leases.view(one.id).lease, "1") for one in (first, job)])
    found = check_explained(third, CauseCode.RATE_REACHED, "starts at most 0.1 a second", "--rate 0.1`")
    assert "(in 20 s)" in found.why
    for number, text in ((1_000_000, "1000000"), (3, "3"), (1e-6, "0.000001")):
        app.queues.limit("web/*", 2, rate=number)
        assert f"starts at most {text} a second" in third.explain().why


def test_a_job_that_is_not_due_shows_when_it_is(app, clock):
    job = add_kind(app).submit(delay=3600)
    serve(app, "welcome")
    check_explained(job, CauseCode.NOT_DUE, "submitted with a delay, and is due at", "starts by itself")
    assert "(in 1 h 0 min)" in job.explain().why
    clock.advance(3601)
    check_explained(job, CauseCode.ABOUT_TO_START, "makes it ready within about a second", "Wait.")


def test_a_job_that_nobody_will_run_when_it_is_due_shows_that_now(app):
    job = add_kind(app).submit(delay=3600)
    check_explained(job, CauseCode.NOT_DUE, "is due at", "Now no worker is running. Start one")


def test_a_job_that_is_due_and_that_nobody_moves_on_needs_an_orchestrator(app, clock):
    job = add_kind(app).submit(delay=60)
    clock.advance(61)
    check_explained(job, CauseCode.NOT_ADVANCED, "no worker or orchestrator is running", "`leasehold orchestrate`")


def test_a_retry_shows_when_it_is_due_and_after_which_failure(app, clock):
    @app.job(retry=Retry(attempts=4))
    def poll():
        raise Transient("the server is down\nsecond line", retry_after=600)

    job = poll.submit()
    app.drain(wait_for_due=False)
    found = job.explain()
    assert found.code is CauseCode.RETRY_DUE
    assert "attempt 1 of 4 failed with TRANSIENT: Transient: the server is down." in found.why
    assert "(in 10 min 0 s)" in found.why
    assert "no worker is running" in found.advice


def test_busy_workers_are_counted_and_so_are_the_tasks_ahead(app):
    kind = add_kind(app)
    jobs = app.submit_many(kind, [{"n": n} for n in range(6)])
    worker = serve(app, "welcome", concurrency=2)
    claim(app.store, worker, "welcome", most=2)
    check_explained(
        jobs[-1], CauseCode.WORKERS_BUSY, "2 of 2 places are taken, and 3 ready tasks", "start another worker"
    )
    check_explained(jobs[2], CauseCode.WORKERS_BUSY, "it is the next of its queue", "start another worker")


def test_the_cap_of_a_queue_in_its_worker_is_a_limit_too(app):
    kind = add_kind(app, queue="mail")
    first, job = kind.submit(), kind.submit()
    worker = serve(app, "welcome", queues={"mail": 1, "default": None}, concurrency=50)
    claim(app.store, worker, "welcome", queue="mail")
    assert first.status == "RUNNING"
    check_explained(job, CauseCode.WORKERS_BUSY, "1 of 1 places are taken", "start another worker")


def test_a_job_that_a_free_worker_should_have_started_points_at_its_log(app, clock):
    job = add_kind(app).submit()
    serve(app, "welcome")
    check_explained(job, CauseCode.ABOUT_TO_START, "starts at any moment", "Wait.")
    clock.advance(300)
    check_explained(job, CauseCode.LATE, "has been ready for 5 min 0 s although", "Read that worker's log")


def test_a_task_that_lost_two_workers_waits_to_be_run_alone_and_later_for_a_worker_that_lives(app, clock):
    kind = add_kind(app)
    job = kind.submit()
    for losses in range(4):
        if losses == 2:
            first = serve(app, "welcome")
            check_explained(
                job, CauseCode.SUSPECT, "lost two workers or more, so that it is run alone", "`leasehold show"
            )
        worker = enrol(app.store)
        claim(app.store, worker, "welcome" if losses < 2 else "!welcome")
        app.store.leases.reclaim([loss.decide(one, ()) for one in app.store.losses.of_worker(worker)])
        clock.advance(5)
        app.store.stages.make_due()
    app.store.workers.deregister([first])
    serve(app, "welcome")
    why = "has lost 4 workers, so that only one that has run for 2 s may claim it, and none has: the oldest started"
    check_explained(job, CauseCode.SUSPECT, why, "`leasehold show")


def test_a_job_is_explained_inside_the_transaction_that_submits_it(app, url):
    kind = add_kind(app)
    with connected(url) as connection, app.transaction(connection):
        job = kind.submit()
        check_explained(job, CauseCode.NO_WORKER, "no worker is running", "Start one")


def test_a_worker_of_another_host_counts_while_it_was_seen_or_holds_leases(app, clock):
    kind = add_kind(app)
    first, job = kind.submit(), kind.submit()
    worker = serve(app, "welcome", owner=ELSEWHERE)
    check_explained(job, CauseCode.ABOUT_TO_START, "elsewhere:7 has a free place", "Wait.")
    clock.advance(91)
    check_explained(job, CauseCode.NO_WORKER, "no worker is running", "Start one")
    app.store.workers.seen(worker)
    check_explained(job, CauseCode.ABOUT_TO_START, "1 ready task of its queue comes first", "Wait.")
    clock.advance(91)
    claim(app.store, worker, "welcome")  # takes the first
    assert (first.status, job.explain().code) == ("RUNNING", CauseCode.LATE)


def test_a_worker_of_a_version_that_published_nothing_may_serve_anything(app, url):
    job = add_kind(app).submit()
    serve(app, "other")
    rows(url, "UPDATE worker SET queues = NULL, routes = NULL, concurrency = NULL RETURNING 1")
    check_explained(job, CauseCode.ABOUT_TO_START, "starts at any moment", "Wait.")


def test_what_runs_is_shown_with_its_worker_lease_and_progress(app, clock):
    job = add_kind(app, lease=60).submit()
    worker = serve(app, "welcome")
    (lease,) = claim(app.store, worker, "welcome")
    app.store.leases.record_progress([Progress(lease.task_id, lease.fence, '{"done":312,"total":500}')])
    clock.advance(20)
    why = f"It runs: attempt 1 of 5 on {this_process()} for 20 s, progress 312 of 500; its lease"
    found = check_explained(job, CauseCode.RUNNING, why, f"`leasehold cancel {job.id}`")
    assert "(in 40 s)" in found.why


def test_a_killed_worker_is_named_and_so_is_what_follows(app, workers):
    worker = workers.start(queues=["hold"])
    job = app.submit("hold", {"name": "gate"})
    until(lambda: workers.journal("start"))
    assert job.explain().code is CauseCode.RUNNING
    worker.kill()
    check_explained(
        job, CauseCode.WORKER_GONE, f":{worker.pid}, which is gone, and nobody", "`leasehold worker MODULE:APP`"
    )
    workers.start(queues=["loop"])  # another worker takes the lease back, and has the kind, but not the queue
    until(lambda: job.status == "READY")
    check_explained(job, CauseCode.QUEUE_UNSERVED, "serves the queue 'hold'", "--queue hold`")


def test_a_live_worker_takes_the_lease_of_a_silent_one_back_when_it_expires(app, clock):
    job = add_kind(app, lease=30).submit()
    (_,) = claim(app.store, serve(app, "welcome", owner=ELSEWHERE), "welcome")
    clock.advance(31)
    check_explained(job, CauseCode.WORKER_GONE, "elsewhere:7, which does not renew its lease", "Wait.")
    clock.advance(60)
    check_explained(
        job, CauseCode.WORKER_GONE, "elsewhere:7, which is gone, and nobody else is there", "Start a worker"
    )
    serve(app, "welcome")
    check_explained(job, CauseCode.WORKER_GONE, "the lease is taken back within about a second", "Wait.")


def test_a_cancel_that_was_requested_is_shown_while_the_handler_still_runs(app):
    job = add_kind(app).submit()
    claim(app.store, serve(app, "welcome"), "welcome")
    job.cancel("wrong order")
    check_explained(job, CauseCode.CANCEL_REQUESTED, "was asked to stop", "`task.cancelled`")


def test_a_manual_lease_is_named_after_its_owner(app):
    job = add_kind(app).submit()
    app.manual.hold(job.id, owner="migration-script")
    check_explained(job, CauseCode.RUNNING, "on migration-script for", "leasehold cancel")


def test_a_settled_job_is_explained_by_its_end(app):
    @app.job
    def work(n: int):
        if n:
            raise Permanent("no such user")

    done, failed, cancelled = work.submit({"n": 0}), work.submit({"n": 1}), work.submit({"n": 0}, delay=60)
    app.drain(wait_for_due=False)
    cancelled.cancel("ordered twice")
    check_explained(done, CauseCode.DONE, "It was done", f"`leasehold show {done.id}`")
    check_explained(cancelled, CauseCode.CANCELLED, "CANCELLED: ordered twice", "submit it again")
    letter = app.deadletters.list()[0].id
    advice = f"`leasehold dead evidence {letter} --text 'what was done'`, then `leasehold dead revive {letter}`"
    check_explained(failed, CauseCode.DEAD_LETTER, "PERMANENT: Permanent: no such user", advice)
    app.deadletters.evidence(letter, "user was added")
    check_explained(
        failed, CauseCode.DEAD_LETTER, "no such user", f"Fix the cause; then `leasehold dead revive {letter}`"
    )


def test_an_explanation_has_one_full_stop_and_promises_no_stack_that_is_not_there(app):
    @app.job(timeout=0.05, retry=Retry(attempts=1))
    async def hang():
        await asyncio.Event().wait()

    job = hang.submit()
    app.drain()
    found = check_explained(job, CauseCode.DEAD_LETTER, "The timeout is 0.05 s.", "has the details.")
    assert not found.why.endswith("..")


def test_a_pipeline_is_explained_by_stage_and_the_cause_to_act_on_comes_first(app):
    film = app.pipeline("film")

    @film.stage
    def script():
        return {"scenes": list(range(4))}

    @film.stage(after=script, each="scenes", queue="voices")
    def audio(): ...

    @film.stage(after=audio)
    def render(): ...

    job = app.submit(film)
    assert [cause.code for cause in job.explain().causes] == [
        CauseCode.NO_WORKER,
        CauseCode.WAITS_FOR_TASKS,
        CauseCode.WAITS_FOR_TASKS,
    ]
    app.drain(queues=["default"], wait_for_due=False)
    serve(app, "film/script", "film/audio", "film/render")
    first, second = job.explain().causes
    assert (first.code, first.stage, first.segment, first.tasks) == (CauseCode.QUEUE_UNSERVED, "audio", 0, 4)
    assert first.why.startswith("Segment 1 of stage 'audio' is ready, and no live worker that has 'film/audio'")
    assert first.why.endswith("; and 3 more segments of this stage likewise.")
    assert (second.code, second.stage) == (CauseCode.WAITS_FOR_TASKS, "render")
    assert second.why == "Stage 'render' waits for 4 of 4 segments of stage 'audio'."


def test_a_job_that_is_not_there_has_no_explanation(app):
    job = add_kind(app).submit()
    job.id += 1
    with pytest.raises(JobUnknown):
        job.explain()
