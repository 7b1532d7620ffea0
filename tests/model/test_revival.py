"""What a revival moves, decided from how a job's tasks ended."""

import pytest

from leasehold.errors import EffectUnanswered, EvidenceMissing, JobCancelled, JobUnfinished, LetterRevived
from leasehold.model.revival import Case, JobTask, JobTasks, Need, RevivalMove, refusal, restart, revive

ROOT = 1


def member(task_id, status=None, *, parent=ROOT, error_class=None, segment=None, fans_out=False, pending=False):
    stage = None if parent is None else f"s{task_id}"
    epoch = None if status is None else 1
    return JobTask(task_id, parent, stage, segment, fans_out, epoch, status, error_class, pending)


def root(status=None):
    return member(ROOT, status, parent=None)


def spoilt(task_id, **options):
    """A stage that could not run because one before it failed."""
    return member(task_id, "CANCELLED", error_class="PREREQUISITE_FAILED", **options)


def needs(**after):
    return [Need(int(task[1:]), on) for task, ons in after.items() for on in ons]


def planned(job, task_id):
    return {move.task_id: (move.place, move.unmet) for move in revive(job, task_id)}


def test_a_plain_job_goes_back_to_ready_and_moves_nothing_else():
    assert revive(JobTasks([root("ERROR")], []), ROOT) == [RevivalMove(ROOT, "ready")]


def test_the_failed_stage_runs_what_waited_for_it_waits_again_and_what_is_done_is_kept():
    job = JobTasks([root("ERROR"), member(2, "DONE"), member(3, "ERROR"), spoilt(4)], needs(t3=[2], t4=[3]))
    assert planned(job, 3) == {3: ("ready", 0), 4: ("waiting", 1), ROOT: ("waiting", 2)}


def test_a_job_that_still_waits_for_other_stages_waits_for_the_revived_ones_too():
    job = JobTasks([root(), member(2), member(3, "ERROR"), spoilt(4)], needs(t4=[3]))
    assert planned(job, 3) == {3: ("ready", 0), 4: ("waiting", 1), ROOT: ("grown", 2)}


def test_an_end_that_nobody_has_looked_at_is_still_counted_by_what_contains_it():
    job = JobTasks([root(), member(2, "ERROR", pending=True), member(3)], needs(t3=[2]))
    assert planned(job, 2) == {2: ("ready", 0)}


def test_a_cancelled_dependent_whose_end_nobody_has_looked_at_is_counted_once():
    job = JobTasks([root(), member(2, "ERROR"), spoilt(3, pending=True), member(4)], needs(t3=[2], t4=[3]))
    assert planned(job, 2) == {2: ("ready", 0), 3: ("waiting", 1), ROOT: ("grown", 1)}


def test_a_diamond_waits_again_as_a_whole():
    job = JobTasks(
        [root("ERROR"), member(2, "ERROR"), spoilt(3), spoilt(4), spoilt(5)], needs(t3=[2], t4=[2], t5=[3, 4])
    )
    assert planned(job, 2) == {
        2: ("ready", 0),
        3: ("waiting", 1),
        4: ("waiting", 1),
        5: ("waiting", 2),
        ROOT: ("waiting", 4),
    }


def test_a_stage_that_another_failure_still_forbids_stays_as_it_is():
    job = JobTasks(
        [root("ERROR"), member(2, "ERROR"), member(3, "ERROR"), spoilt(4), spoilt(5)], needs(t4=[2, 3], t5=[4])
    )
    assert planned(job, 2) == {2: ("ready", 0), ROOT: ("waiting", 1)}


def test_the_second_of_two_failures_frees_what_needs_both():
    job = JobTasks([root(), member(2), member(3, "ERROR"), spoilt(4)], needs(t4=[2, 3]))
    assert planned(job, 3) == {3: ("ready", 0), 4: ("waiting", 2), ROOT: ("grown", 2)}


@pytest.mark.parametrize(("pending", "unmet"), [(True, 2), (False, 1)])
def test_a_prerequisite_that_is_done_counts_only_while_nobody_has_looked_at_its_end(pending, unmet):
    job = JobTasks([root("ERROR"), member(2, "ERROR"), member(3, "DONE", pending=pending), spoilt(4)], needs(t4=[2, 3]))
    assert planned(job, 2)[4] == ("waiting", unmet)


def test_what_a_person_cancelled_stays_cancelled():
    called_off = member(3, "CANCELLED", error_class="CANCELLED")
    job = JobTasks([root("ERROR"), member(2, "ERROR"), called_off], needs(t3=[2]))
    assert planned(job, 2) == {2: ("ready", 0), ROOT: ("waiting", 1)}


def test_a_segment_takes_its_group_its_job_and_what_waits_for_the_group_with_it():
    group = member(2, "ERROR", fans_out=True)
    job = JobTasks([root("ERROR"), group, spoilt(3), member(9, "ERROR", parent=2, segment=4)], needs(t3=[2]))
    assert planned(job, 9) == {9: ("ready", 0), 3: ("waiting", 1), 2: ("waiting", 1), ROOT: ("waiting", 2)}


def test_a_segment_of_a_group_that_still_runs_is_one_more_to_wait_for():
    job = JobTasks([root(), member(2, fans_out=True), member(9, "ERROR", parent=2, segment=4)], [])
    assert planned(job, 9) == {9: ("ready", 0), 2: ("grown", 1)}


def test_a_stage_that_could_not_fan_out_waits_for_nothing_so_that_it_can():
    job = JobTasks([root("ERROR"), member(2, "DONE"), member(3, "ERROR", fans_out=True)], needs(t3=[2]))
    assert planned(job, 3) == {3: ("waiting", 0), ROOT: ("waiting", 1)}


def test_a_restart_places_every_stage_as_a_submit_does():
    job = JobTasks([root("ERROR"), member(2, "DONE"), member(3, "ERROR"), spoilt(4)], needs(t3=[2], t4=[2, 3]))
    moves = [
        RevivalMove(ROOT, "waiting", 3),
        RevivalMove(2, "ready", 0),
        RevivalMove(3, "waiting", 1),
        RevivalMove(4, "waiting", 2),
    ]
    assert restart(job) == moves
    assert restart(JobTasks([root("ERROR")], [])) == [RevivalMove(ROOT, "ready", 0)]


def test_a_job_of_which_something_runs_is_not_started_again():
    with pytest.raises(JobUnfinished):
        restart(JobTasks([root(), member(2), member(3, "ERROR")], []))


@pytest.mark.parametrize("plan", [restart, lambda job: revive(job, 2)])
def test_nothing_is_planned_for_a_job_that_was_called_off(plan):
    with pytest.raises(JobCancelled):
        plan(JobTasks([root("CANCELLED"), member(2, "ERROR")], []))


OPEN = {"state": "open", "error_class": "PERMANENT", "job_status": "ERROR", "evidenced": True, "unanswered": 0}


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, type(None)),
        ({"job_status": None}, type(None)),
        ({"unanswered": 3}, type(None)),
        ({"state": "revived"}, LetterRevived),
        ({"state": "resolved"}, LetterRevived),
        ({"job_status": "CANCELLED"}, JobCancelled),
        ({"evidenced": False}, EvidenceMissing),
        ({"error_class": "EFFECT_IN_DOUBT", "unanswered": 1}, EffectUnanswered),
        ({"error_class": "EFFECT_IN_DOUBT"}, type(None)),
    ],
)
def test_a_letter_is_refused_for_one_reason_at_a_time(changes, error):
    assert type(refusal(Case(letter_id=7, task_id=1, epoch=1, **(OPEN | changes)))) is error
