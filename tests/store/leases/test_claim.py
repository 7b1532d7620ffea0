"""Claim: priority first, then append order; never more than asked; only what this worker can run."""

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from leasehold.model.lanes import Hints
from leasehold.store import open_store
from leasehold.store.db import statements
from leasehold.store.db.sqlite import STOP_IF_EMPTY
from tests.store.work import WAITS, at_once, claim, claim_one, connect, finish, job, lane, look, register, submit
from tests.support.wait import until


def keys(leases) -> list[str]:
    return [lease.key for lease in leases]


def test_higher_priority_comes_first_then_the_order_of_submission(store, worker):
    for key, priority in [("a", 0), ("b", 5), ("c", -3), ("d", 5), ("e", 0), ("f", 32_767), ("g", -32_768)]:
        submit(store, key, priority=priority)
    assert keys(claim(store, worker)) == ["f", "b", "d", "a", "e", "c", "g"]


def test_one_claim_at_a_time_keeps_the_same_order(store, worker):
    for key, priority in [("a", 0), ("b", 5), ("c", -3), ("d", 5)]:
        submit(store, key, priority=priority)
    assert [claim_one(store, worker).key for _ in range(4)] == ["b", "d", "a", "c"]


def test_a_claim_takes_no_more_than_it_asked_for(store, worker):
    submit(store, *"abcdefghij")
    assert keys(claim(store, worker, 1)) == ["a"]
    assert keys(claim(store, worker, 4)) == ["b", "c", "d", "e"]
    assert claim(store, worker, 0) == []
    assert len(claim(store, worker, 100)) == 5
    assert claim(store, worker) == []


def test_one_claim_over_several_queues_takes_no_more_than_it_asked_for(store, worker):
    for queue in ("mail", "film", "default"):
        submit(store, *[f"{queue}-{number}" for number in range(3)], queue=queue)
    leases = claim(store, worker, 5, queues=("mail", "film", "default"))
    assert sorted(lease.queue for lease in leases) == ["film", "film", "mail", "mail", "mail"]
    assert look(store, "SELECT count(*) FROM lease") == [(5,)]


def test_what_is_left_of_a_claim_goes_to_the_best_of_the_next_queue(store, worker):
    submit(store, "only", queue="first")
    submit(store, "low", queue="second")
    submit(store, "high", queue="second", priority=9)
    assert sorted(keys(claim(store, worker, 2, queues=("first", "second")))) == ["high", "only"]


def test_a_claim_does_not_wait_for_one_that_is_under_way(postgres, postgres_template):
    """L3: rows that another transaction has locked are passed over, not waited for."""
    url = postgres.create_database(postgres_template)
    with contextlib.closing(open_store(url)) as store, psycopg.connect(url) as slow, ThreadPoolExecutor(1) as thread:
        worker = register(store)
        submit(store, *"abcde")
        with store.transaction(slow):
            assert keys(claim(store, worker, 2)) == ["a", "b"]
            other = thread.submit(claim, store, worker, 2)
            until(lambda: other.done() or look(store, WAITS))
            assert other.done()
        assert keys(other.result()) == ["c", "d"]
    postgres.drop_database(url)


def test_a_lease_carries_what_the_attempt_needs(store, worker, clock):
    (task,) = submit(store, "k", payload={"n": 1}, priority=3, attempts_max=7, lease_ms=12_000)
    lease = claim_one(store, worker)
    assert (lease.task_id, lease.job_id, lease.kind, lease.stage, lease.key) == (task, task, "a", None, "k")
    assert (lease.payload, lease.priority, lease.attempts_max, lease.lease_ms) == ('{"n":1}', 3, 7, 12_000)
    assert (lease.fence, lease.attempt, lease.epoch, lease.route) == (1, 1, 1, "a")
    assert look(store, "SELECT expires_at, started_at, worker FROM lease") == [
        (clock.now + 12_000_000, clock.now, worker)
    ]


def test_a_task_whose_kind_the_worker_does_not_know_is_left(store, worker):
    submit(store, "unknown", kind="other", priority=9)
    submit(store, "known")
    assert keys(claim(store, worker, 1, routes=["a"])) == ["known"]
    assert claim(store, worker, routes=["a"]) == []
    assert keys(claim(store, worker, routes=["other"])) == ["unknown"]


def test_a_worker_of_nothing_claims_nothing(store, worker):
    submit(store, "a")
    assert claim(store, worker, routes=[]) == []
    assert claim(store, worker, queues=[]) == []


def test_a_paused_queue_is_not_claimed_from_until_it_is_resumed(store, worker):
    submit(store, "a", "b")
    running = claim_one(store, worker)
    store.queues.pause("default")
    assert claim(store, worker) == []
    assert len(finish(store, [running])) == 1
    store.queues.resume("default")
    assert keys(claim(store, worker)) == ["b"]


def test_claims_at_the_same_time_never_share_a_task(store):
    """S1: a task has at most one live lease."""
    submit(store, *[str(number) for number in range(400)])
    workers = [register(store, number) for number in range(8)]

    def drain(number):
        taken = []
        while leases := claim(store, workers[number], 7):
            taken += [(lease.task_id, lease.fence) for lease in leases]
        return taken

    taken = [one for part in at_once(8, drain) for one in part]
    assert len(taken) == len(set(taken)) <= 400
    taken += [(lease.task_id, lease.fence) for lease in claim(store, workers[0], 400)]  # what was locked a moment ago
    assert sorted(taken) == [(row[0], 1) for row in look(store, "SELECT id FROM task ORDER BY id")]


def claim_with(store, worker, hints, most=100) -> list[str]:
    leases = store.leases.claim(worker, hints.lanes(["default"]), '["a"]', most).leases
    hints.claimed(leases)
    return keys(leases)


def test_a_priority_never_seen_before_is_found_at_once(store, worker):
    hints = Hints()
    submit(store, "zero")
    assert claim_with(store, worker, hints) == ["zero"]
    submit(store, "ten", priority=10)
    submit(store, "again", priority=0)
    submit(store, "minus", priority=-10)
    submit(store, "five", priority=5)
    assert claim_with(store, worker, hints) == ["ten", "five", "again", "minus"]
    submit(store, "between", priority=7)
    assert claim_with(store, worker, hints) == ["between"]


def test_a_late_commit_behind_the_hint_is_found_after_forgetting(store, worker):
    """L3: a row that became visible late is not starved by the hint."""
    hints = Hints()
    submit(store, "late")
    late = claim_one(store, worker)
    submit(store, "next")
    assert claim_with(store, worker, hints) == ["next"]
    with connect(store) as connection:  # as a transaction would that began before "next" and commits after it
        put_back(connection, late)
    assert claim_with(store, worker, hints) == []
    hints.forget()
    assert claim_with(store, worker, hints) == ["late"]


def put_back(connection, lease) -> None:
    schema = "" if hasattr(connection, "changes") else "leasehold."
    overriding = "" if not schema else "OVERRIDING SYSTEM VALUE "
    connection.execute(f"DELETE FROM {schema}lease")  # noqa: S608
    connection.execute(
        f"INSERT INTO {schema}ready (position, task_id, queue, priority, route, attempt, fence, epoch) "
        f"{overriding}VALUES ({lease.position}, {lease.task_id}, 'default', 0, 'a', 1, 1, 1)"
    )


def test_positions_and_ids_continue_after_everything_was_taken(store, worker):
    """S7: sequences are unique and go on from what is stored."""
    seen: list[tuple[int, int]] = []
    for round_number in range(3):
        submit(store, f"{round_number}a", f"{round_number}b")
        leases = claim(store, worker)
        finish(store, leases)
        seen += [(lease.task_id, lease.position) for lease in leases]
    assert seen == sorted(seen)
    assert len({task for task, _ in seen}) == len({position for _, position in seen}) == 6


@pytest.mark.parametrize("queue", ["default", "x" * 63, "a.b-c_d"])
def test_work_is_found_in_any_queue_that_may_be_named(store, worker, queue):
    store.tasks.submit([job("k", queue=queue)])
    assert keys(store.leases.claim(worker, [lane(queue)], json.dumps(["a"]), 1).leases) == ["k"]


@pytest.mark.parametrize("limited", [False, True])
def test_a_claim_asks_how_much_room_there_is_when_it_is_its_turn_where_writers_take_turns(store, worker, limited):
    submit(store, *"abcde")
    if limited:
        store.queues.limit("default", 10)
        claimed = store.leases.claim_limited(worker, "default", '["a"]', 1, free=lambda: 3)
    else:
        claimed = store.leases.claim(worker, [lane("default")], '["a"]', 1, free=lambda: 3)
    assert (len(claimed.leases), claimed.requested) == ((3, 3) if store.database.dialect.single_writer else (1, 1))


@pytest.mark.parametrize("name", sorted(STOP_IF_EMPTY))
def test_what_ends_on_sqlite_when_its_first_step_found_nothing_has_no_step_that_would_do_anything_then(name):
    first, *others = statements.steps("sqlite", name)
    assert first.startswith("INSERT INTO temp.leasehold_taken")
    assert all("temp.leasehold_taken" in step for step in others)
