"""Workers killed, stopped past their leases and restarted by turns, among work that goes on all the time."""

import signal

import pytest

from tests.chaos.final_checks import check_storm
from tests.chaos.storm import HOLDERS, Storm
from tests.support.processes.stopped import has_stopped, holds_a_transaction, holds_the_file
from tests.support.wait import until

SHORT = 3.0


def kill(storm: Storm, number: int) -> None:
    """Kill a worker that holds leases, now and then the submitter, and hire another."""
    if number % 5 == 4:
        storm.processes.submitter.kill()
        storm.struck("SIGKILL of the submitter", storm.processes.submitter.pid)
        storm.processes.start_submitter()
    storm.kill_holder()
    storm.progress(3)


def check_kills(storm: Storm, kills: int) -> None:
    storm.begin(workers=3)
    for number in range(kills):
        kill(storm, number)
    proof = check_storm(storm)
    assert proof.faults["SIGKILL"] >= kills
    assert proof.counts["reclaimed"] >= kills


def test_s3_s5_workers_killed_with_leases_in_hand_lose_nothing_and_settle_nothing_twice(make_storm, url):
    check_kills(make_storm("SIGKILL", url), 5)


@pytest.mark.soak
def test_s3_s5_a_thousand_kills_lose_nothing_and_are_picked_up_within_the_lease(make_storm, url):
    check_kills(make_storm("SIGKILL", url, lease=SHORT, long=True), 1_000)


@pytest.mark.soak
def test_s3_s5_kills_under_a_lease_of_the_default_length_are_picked_up_within_it(make_storm, url):
    check_kills(make_storm("SIGKILL, default lease", url, long=True), 100)


def test_a_worker_that_dies_by_itself_fails_the_storm_and_the_end_of_its_log_is_shown(make_storm, url):
    storm = make_storm("a worker that dies", url, lease=SHORT)
    storm.begin(workers=1)
    failing = storm.processes.start_worker({"STORM_EXIT": "3"})
    assert failing.end() == 3
    with pytest.raises(RuntimeError, match=r"ended with 3 by itself:[^$]*asked to end with 3"):
        storm.progress(3)
    with pytest.raises(AssertionError, match=r"ended with 3 by itself:[^$]*asked to end with 3"):
        check_storm(storm)


def stop(storm: Storm, *, anywhere: bool) -> bool:
    """Stop a worker until others took its leases, then let it go on and find that out; return whether it had any.

    A stopped writer of SQLite stops every other, which is no lease's doing: such a one is let go at once. So is one
    that has a transaction of PostgreSQL open, unless the storm strikes `anywhere`.
    """
    worker = storm.holder()
    before = storm.taken_from(worker.pid)
    worker.signal(signal.SIGSTOP)
    until(lambda: has_stopped(worker.pid))
    moment = storm.now()
    is_sqlite = storm.url.startswith("sqlite")
    if holds_the_file(storm.url) if is_sqlite else not anywhere and holds_a_transaction(storm.url):
        worker.signal(signal.SIGCONT)
        return False
    until(lambda: worker.pid not in {pid for (pid,) in storm.look(HOLDERS)}, timeout=60)
    is_struck = storm.taken_from(worker.pid) > before  # else it had just settled what it held
    if is_struck:
        storm.struck("SIGSTOP", worker.pid, moment)
        storm.owed += 1
        storm.progress(3)
    worker.signal(signal.SIGCONT)
    return is_struck


def check_zombies(storm: Storm, zombies: int, *, anywhere: bool) -> None:
    """Every worker that counts was stopped with leases in hand, and they were taken from it."""
    storm.begin(workers=3)
    struck = 0
    while struck < zombies:
        struck += stop(storm, anywhere=anywhere)
    proof = check_storm(storm)
    assert proof.counts["reclaimed"] >= zombies
    assert proof.repickups.count >= zombies


def test_s2_workers_stopped_past_their_leases_wake_up_and_change_nothing(make_storm, url):
    check_zombies(make_storm("SIGSTOP", url, lease=0.6), 2, anywhere=False)


@pytest.mark.soak
def test_s2_two_hundred_workers_stopped_past_their_leases_change_nothing(make_storm, url):
    check_zombies(make_storm("SIGSTOP", url, lease=2.0, long=True), 200, anywhere=True)


def check_rolling(storm: Storm, restarts: int) -> None:
    """Nobody dies, so no lease is taken from anybody: what had not begun is released, and the rest ends."""
    storm.begin(workers=2)
    for _ in range(restarts):
        worker = storm.holder()
        storm.processes.replace(worker)
        storm.struck("SIGTERM", worker.pid)
        worker.signal(signal.SIGTERM)
        storm.progress(3)
        assert worker.end() == 0
    proof = check_storm(storm)
    assert proof.counts["reclaimed"] == 0


def test_s12_workers_restarted_by_turns_leave_nothing_to_be_taken_back(make_storm, url):
    check_rolling(make_storm("SIGTERM", url), 3)


@pytest.mark.soak
def test_s12_two_hundred_rolling_restarts_leave_nothing_to_be_taken_back(make_storm, url):
    spared = "A worker that receives SIGTERM releases its leases, so none is reclaimed."
    check_rolling(make_storm("SIGTERM", url, long=True, spared=spared), 200)
