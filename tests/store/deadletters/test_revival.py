"""Revivals: exactly one new epoch, at the stage that failed, even if others revive, advance or cancel meanwhile."""

import contextlib
import random
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from leasehold.errors import JobCancelled, LeaseholdError, LetterRevived, Misuse
from leasehold.model.lease import done, failed
from leasehold.runtime.maintain.orchestrator import Orchestrator
from leasehold.store import deadletters, open_store
from leasehold.store.deadletters import LetterFilter, ReviveRequest
from leasehold.store.stages import Advanced
from tests.store import work
from tests.store.deadletters.buried_tasks import (
    DENIED,
    FILM,
    REMEDY,
    SCENES,
    buried_job,
    bury,
    film_with_a_failed_segment,
    letters,
    only_letter,
    revive,
    run,
)
from tests.store.model.invariants import check_everything
from tests.store.work import (
    REASON,
    WAITS,
    advance,
    at_once,
    claim,
    claim_one,
    finish,
    look,
    pipeline,
    register,
    routes_of,
    stage,
    status,
    statuses,
    submit,
    take_time,
)
from tests.support.databases.postgres import database_name
from tests.support.databases.proxy import Proxy
from tests.support.wait import until


def epochs(store, job_id):
    """How often each task of a job was given a new epoch."""
    lines = [event for event in store.reports.events(job_id) if event.name == "revived"]
    return {task: sum(line.task_id == task for line in lines) for task in {line.task_id for line in lines}}


def test_s5_a_revival_moves_the_old_outcome_as_it_is_and_settles_a_new_epoch(store, worker):
    letter = buried_job(store, worker)
    before = check_everything(store)
    done_ = revive(store, letter)
    assert (done_.epoch, done_.tasks, done_.queues) == (2, 1, frozenset({"default"}))
    assert status(store, letter.job_id) == "READY"
    check_everything(store, before)
    lease = claim_one(store, worker)
    assert (lease.fence, lease.attempt) == (2, 1)
    finish(store, [lease], "well")
    after = check_everything(store, before)
    assert {key[1]: row[3] for key, row in after.items()} == {1: "ERROR", 2: "DONE"}


def test_s13_a_hundred_revivals_at_once_make_exactly_one_new_epoch(store, worker):
    letter = buried_job(store, worker)
    store.deadletters.evidence(letter.id, "ada", REMEDY)

    def press(number):
        try:
            return store.deadletters.revive(letter.id, f"operator {number}").epoch
        except LetterRevived:
            return None

    answers = at_once(100, press)
    assert sorted(filter(None, answers)) == [2]
    assert epochs(store, letter.job_id) == {letter.task_id: 1}
    assert look(store, "SELECT count(*) FROM audit WHERE action = 'revive'") == [(1,)]
    assert look(store, "SELECT task_id, epoch, attempt, fence FROM ready") == [(letter.task_id, 2, 0, 1)]
    check_everything(store)


def test_s13_a_revival_starts_at_the_stage_that_failed_and_keeps_what_is_done(store, worker):
    film = pipeline(store, "k", stage("fetch"), stage("llm", "fetch"), stage("notify", "llm")).id
    run(store, worker, routes_of("fetch"))
    bury(store, claim(store, worker, routes=routes_of("llm")))
    assert statuses(store, film)["notify", None] == "CANCELLED"
    revive(store, only_letter(store))
    assert statuses(store, film) == {
        (None, None): "RUNNING",
        ("fetch", None): "DONE",
        ("llm", None): "READY",
        ("notify", None): "NEW",
    }
    assert run(store, worker, routes_of("fetch", "llm", "notify")) == 2
    assert status(store, film) == "DONE"
    check_everything(store)


def test_s13_a_segment_is_revived_alone_and_its_group_goes_on_when_it_is_done(store, worker):
    film = film_with_a_failed_segment(store, worker)
    assert status(store, film) == "ERROR"
    revive(store, only_letter(store))
    assert run(store, worker, routes_of("audio", "render"), "sound") == 2
    assert status(store, film) == "DONE"
    assert store.stages.outputs(film) == {"render": "sound"}
    check_everything(store)


def test_segments_revived_one_after_the_other_are_all_waited_for(store, worker):
    film = pipeline(store, "k", *FILM).id
    run(store, worker, routes_of("script"), SCENES)
    bury(store, claim(store, worker, routes=routes_of("audio")))
    for letter in letters(store):
        revive(store, letter)
    group = look(store, "SELECT unmet FROM waiting JOIN task ON task.id = task_id WHERE stage = 'audio'")
    assert group == [(3,)]
    assert run(store, worker, routes_of("audio", "render")) == 4
    assert status(store, film) == "DONE"
    check_everything(store)


def test_one_revived_segment_of_two_that_failed_ends_the_group_in_error_again(store, worker):
    film = pipeline(store, "k", *FILM).id
    run(store, worker, routes_of("script"), SCENES)
    bury(store, claim(store, worker, routes=routes_of("audio")))
    first, *others = letters(store)
    revive(store, first)
    run(store, worker, routes_of("audio"))
    assert (status(store, film), statuses(store, film)["render", None]) == ("ERROR", "CANCELLED")
    for letter in others:
        revive(store, letter)
    run(store, worker, routes_of("audio", "render"))
    assert status(store, film) == "DONE"
    check_everything(store)


def test_two_failed_prerequisites_are_revived_in_turn_and_what_needs_both_runs_once(store, worker):
    diamond = (stage("top"), stage("left", "top"), stage("right", "top"), stage("end", "left", "right"))
    film = pipeline(store, "k", *diamond).id
    run(store, worker, routes_of("top"))
    bury(store, claim(store, worker, routes=routes_of("left", "right")))
    left, right = letters(store)
    revive(store, left)
    assert statuses(store, film)["end", None] == "CANCELLED"
    run(store, worker, routes_of("left"))
    assert status(store, film) == "ERROR"
    revive(store, right)
    assert statuses(store, film)["end", None] == "NEW"
    assert run(store, worker, routes_of("left", "right", "end")) == 2
    assert status(store, film) == "DONE"
    check_everything(store)


def test_a_revival_before_anybody_looked_at_the_failure_is_as_if_it_had_been_retried(store, worker):
    film = pipeline(store, "k", stage("one"), stage("two", "one")).id
    store.leases.settle([failed(lease, DENIED) for lease in claim(store, worker, routes=routes_of("one"))])
    revive(store, only_letter(store))
    assert look(store, "SELECT count(*) FROM unsettled") == [(0,)]
    assert run(store, worker, routes_of("one", "two")) == 2
    assert status(store, film) == "DONE"
    check_everything(store)


def test_a_revival_while_its_cancelled_dependents_are_half_looked_at_loses_no_count(store, worker):
    chain = [stage("s0"), *(stage(f"s{number}", f"s{number - 1}") for number in range(1, 5))]
    film = pipeline(store, "k", *chain).id
    store.leases.settle([failed(lease, DENIED) for lease in claim(store, worker, routes=routes_of("s0"))])
    Orchestrator(store).advance_batch()
    Orchestrator(store).advance_batch()
    assert look(store, "SELECT count(*) FROM unsettled") == [(1,)]
    revive(store, only_letter(store))
    advance(store)
    assert run(store, worker, routes_of("s0", "s1", "s2", "s3", "s4")) == 5
    assert status(store, film) == "DONE"
    check_everything(store)


class Pausing:
    """A session that calls back after each operation of one name."""

    def __init__(self, session, after, call):
        self._session, self._after, self._call = session, after, call

    def run(self, name, /, **values):
        rows = self._session.run(name, **values)
        if name == self._after:
            self._call()
        return rows


@pytest.mark.parametrize("dialect", ["postgres"])
def test_l1_an_orchestrator_waits_for_a_revival_that_is_under_way(store, worker):
    """Else it would overlook what the revival makes wait for an end that it looks at; SQLite has one writer."""
    film = pipeline(store, "k", stage("left"), stage("right"), stage("end", "left", "right")).id
    left, right = sorted(claim(store, worker, routes=routes_of("left", "right")), key=lambda lease: lease.task_id)
    bury(store, [left])
    finish(store, [right])
    letter = only_letter(store)
    store.deadletters.evidence(letter.id, "ada", REMEDY)
    with ThreadPoolExecutor(1) as thread:
        looks: list[Future[Advanced]] = []

        def look_on():
            looks.append(thread.submit(Orchestrator(store).advance_batch))
            until(lambda: looks[0].done() or look(store, WAITS))

        def revive_slowly(session):
            take_time(session)
            press = ReviveRequest(letter.id, "ada", from_start=False, nonce="1")
            deadletters._revive(Pausing(session, "deadletters/revive", look_on), press)  # type: ignore[arg-type]  # noqa: SLF001

        store.database.transact(revive_slowly)
        assert looks[0].result().count == 1
    assert run(store, worker, routes_of("left", "end")) == 2
    assert status(store, film) == "DONE"
    check_everything(store)


def test_a_job_that_was_called_off_is_not_revived(store, worker):
    film = pipeline(store, "k", stage("one"), stage("two")).id
    (one,) = claim(store, worker, routes=routes_of("one"))
    bury(store, [one])
    store.tasks.cancel(film, REASON)
    letter = only_letter(store)
    with pytest.raises(JobCancelled):
        revive(store, letter)
    assert status(store, film) == "CANCELLED"
    assert only_letter(store).state == "open"


def test_an_attempt_of_an_earlier_epoch_cannot_settle_the_new_one(store, worker, clock):
    """S2: the fence goes on growing over all epochs."""
    submit(store, "k", on_lost="bury")
    asleep = claim_one(store, worker)
    clock.advance(60)
    store.leases.reclaim(store.losses.expired())
    revive(store, only_letter(store))
    awake = claim_one(store, worker)
    assert finish(store, [asleep]) == []
    assert (asleep.fence, awake.fence) == (1, 2)
    assert len(finish(store, [awake])) == 1


def test_a_revived_task_has_all_its_attempts_again(store, worker):
    """S12: attempts are counted per epoch."""
    submit(store, "k", attempts_max=2)
    store.leases.settle([work.retry(claim_one(store, worker), 0)])
    store.stages.make_due()
    bury(store, [claim_one(store, worker)])
    revive(store, only_letter(store))
    assert claim_one(store, worker).attempt == 1


def test_a_revival_inside_a_transaction_of_the_callers_is_refused(store, worker):
    """It would keep every orchestrator out for as long as the caller likes."""
    letter = buried_job(store, worker)
    store.deadletters.evidence(letter.id, "ada", REMEDY)
    with work.connect(store) as connection, store.transaction(connection), pytest.raises(Misuse):
        store.deadletters.revive(letter.id, "ada")
    assert only_letter(store).state == "open"


@pytest.fixture
def proxied(postgres, postgres_template):
    direct = postgres.create_database(postgres_template)
    with contextlib.ExitStack() as stack:
        proxy = stack.enter_context(Proxy(postgres.port))
        url = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name(direct)}"
        store = stack.enter_context(contextlib.closing(open_store(url, connections=2)))
        yield proxy, store
    postgres.drop_database(direct)


def test_a_revival_whose_commit_was_not_answered_is_reported_as_done_and_happened_once(proxied):
    proxy, store = proxied
    letter = buried_job(store, register(store))
    store.deadletters.evidence(letter.id, "ada", REMEDY)
    proxy.lose_the_answer_to(b"COMMIT")
    assert store.deadletters.revive(letter.id, "ada").epoch == 2
    assert proxy.cuts == 1
    assert epochs(store, letter.job_id) == {letter.task_id: 1}
    with pytest.raises(LetterRevived):
        store.deadletters.revive(letter.id, "ada")


STAGES = (
    stage("script"),
    stage("audio", "script", each="scenes"),
    stage("image", "script", each="scenes"),
    stage("join", "audio", "image"),
    stage("title", "script"),
    stage("render", "join", "title"),
)
ROUTES = routes_of("script", "audio", "image", "join", "title", "render")


def labour(store, worker, over, dice):
    """Run what is ready; every third attempt fails for good."""
    while not over.is_set():
        for lease in claim(store, worker, 3, routes=ROUTES):
            fails = dice.random() < 0.3
            store.leases.settle([failed(lease, DENIED) if fails else done(lease, '{"scenes":[1,2,3,4]}')])


def operate(store, over, dice):
    """Revive whatever is open, now and then from the start."""
    while not over.wait(0.001):
        for letter in store.deadletters.list(LetterFilter(state="open"), 20):
            with contextlib.suppress(LeaseholdError):
                store.deadletters.evidence(letter.id, "ada", REMEDY)
                store.deadletters.revive(letter.id, "ada", from_start=dice.random() < 0.1)


def oversee(store, over, films):
    while not over.wait(0.001):
        if not Orchestrator(store).advance_batch().count and all(status(store, film) == "DONE" for film in films):
            over.set()


def test_s13_operators_workers_and_orchestrators_at_once_bring_every_job_to_its_end(store):
    """S3, S5, S6: no count is lost when others look, fail and revive at the same time, or a job would never end."""
    films = [pipeline(store, str(number), *STAGES).id for number in range(6)]
    workers = [register(store, number) for number in range(3)]

    def act(number):
        dice = random.Random(number)
        if number < 3:
            labour(store, workers[number], over, dice)
        elif number < 6:
            operate(store, over, dice)
        else:
            oversee(store, over, films)

    with work.ending(90) as over:
        at_once(9, act)
    assert [status(store, film) for film in films] == ["DONE"] * 6
    assert letters(store, state="open") == []
    assert look(store, "SELECT count(*) FROM waiting") == look(store, "SELECT count(*) FROM unsettled") == [(0,)]
    revived = look(store, "SELECT count(*) FROM audit WHERE action = 'revive'")[0][0]
    assert 0 < revived <= len(letters(store))
    check_everything(store)


def test_revivals_and_cancels_at_once_end_every_job_one_way(store, worker):
    """S10: a job that was called off stays so, and nothing of it is left behind."""
    films = [pipeline(store, str(number), stage("one"), stage("two", "one"), stage("free")).id for number in range(20)]
    bury(store, claim(store, worker, routes=routes_of("one")))
    open_letters = letters(store)

    def act(number):
        if number % 2:
            store.tasks.cancel(films[number // 2], REASON)
        else:
            with contextlib.suppress(JobCancelled):
                revive(store, open_letters[number // 2])

    at_once(40, act)
    advance(store)
    for film in films:
        assert status(store, film) == "CANCELLED"
        assert set(statuses(store, film).values()) <= {"CANCELLED", "ERROR"}
    assert look(store, "SELECT count(*) FROM waiting") == look(store, "SELECT count(*) FROM ready") == [(0,)]
    check_everything(store)
