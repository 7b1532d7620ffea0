"""The tour's result on invented evidence: a run that lost, doubled or contradicted something is never called good."""

from typing import Any

import pytest
from msgspec.structs import replace

from leasehold.cli.tour.command import print_result
from leasehold.cli.tour.evidence import AttemptStart, StartLog, judge
from leasehold.cli.tour.run import TourPlan, TourProgress, is_kill_due
from leasehold.errors import Broken
from leasehold.store.reports import JournalCounts

# Job 1 was done at once. Job 2 was claimed, lost with its worker, and done by the second attempt.
ONCE = JournalCounts(
    task_id=1, job_id=1, status="DONE", fence=1, outcomes=1, claims=1, releases=0, reclaims=0, endings=1
)
TWICE = JournalCounts(
    task_id=2, job_id=2, status="DONE", fence=2, outcomes=1, claims=2, releases=0, reclaims=1, endings=1
)
STARTS = [AttemptStart(1, 1, 1, 1, 100), AttemptStart(2, 2, 1, 1, 100), AttemptStart(2, 2, 2, 2, 101)]
GOOD: dict[str, Any] = {
    "jobs": {1, 2}, "journal_counts": [ONCE, TWICE], "starts": STARTS, "kills_wanted": 1, "kills": 1, "seconds": 1.0,
}  # fmt: skip


def doctored(**changes) -> dict[str, Any]:
    return GOOD | changes


def test_a_good_run_is_called_good():
    result = judge(**GOOD)
    assert result.holds
    assert (result.submitted, result.done, result.seen) == (2, 2, 2)
    assert (result.lost, result.settled_twice, result.contradictions) == ([], [], [])
    assert (result.repeated, result.repeated_begun) == (1, 1)


BAD = {
    "a job without an end is lost": (doctored(journal_counts=[ONCE, replace(TWICE, status=None)]), "LOST: jobs 2"),
    "a job that failed is lost": (doctored(journal_counts=[ONCE, replace(TWICE, status="ERROR")]), "LOST: jobs 2"),
    "a job the database forgot is lost": (doctored(journal_counts=[ONCE]), "LOST: jobs 2"),
    "a job no handler saw is lost": (doctored(starts=STARTS[:1]), "LOST: jobs 2"),
    "two endings": (doctored(journal_counts=[ONCE, replace(TWICE, endings=2)]), "SETTLED TWICE: tasks 2"),
    "two outcomes": (doctored(journal_counts=[ONCE, replace(TWICE, outcomes=2)]), "SETTLED TWICE: tasks 2"),
    "one lease, two beginnings": (doctored(starts=[*STARTS, STARTS[0]]), "task 1 began twice under one lease"),
    "more leases than claims": (doctored(starts=[*STARTS, AttemptStart(1, 1, 2, 2, 9)]), "claimed 1 times"),
    "an end nobody began": (doctored(starts=STARTS[:2]), "under which no handler began"),
    "a task from nowhere": (doctored(starts=[*STARTS, AttemptStart(3, 3, 1, 1, 9)]), "the database does not know it"),
    "too few kills": (doctored(kills=0), "TOO FEW KILLS: 0 of 1"),
}


@pytest.mark.parametrize(("evidence", "sentence"), BAD.values(), ids=BAD)
def test_a_run_that_lost_doubled_or_contradicted_something_is_never_called_good(evidence, sentence, capsys):
    result = judge(**evidence)
    assert not result.holds
    print_result(result)
    shown = capsys.readouterr().out
    assert sentence in shown
    assert "Nothing was lost" not in shown


def test_a_task_of_a_pipeline_counts_for_its_job_and_a_task_of_others_not_at_all():
    part = replace(ONCE, task_id=3, endings=2)
    stranger = replace(ONCE, task_id=9, job_id=9, endings=2)
    result = judge(
        **doctored(journal_counts=[ONCE, TWICE, part, stranger], starts=[*STARTS, AttemptStart(1, 3, 1, 1, 100)])
    )
    assert result.settled_twice == [3]
    assert (result.submitted, result.done) == (2, 2)


def test_a_revived_task_may_end_once_more_and_not_twice_more():
    revived = replace(TWICE, endings=2, outcomes=2, revivals=1)
    assert judge(**doctored(journal_counts=[ONCE, revived])).holds
    assert judge(**doctored(journal_counts=[ONCE, replace(revived, endings=3)])).settled_twice == [2]


PLAN = TourPlan(jobs=100, kills=3, workers=3)


@pytest.mark.parametrize(
    ("left", "kills", "since", "due"),
    [
        (90, 0, 0.5, False),  # a quarter of the work before the first kill
        (75, 0, 0.1, True),  # the work runs out faster than the seconds
        (75, 1, 0.1, False),
        (90, 0, 1.0, True),  # a second has passed
        (10, 3, 0.5, False),  # as many as planned
        (10, 3, 1.0, True),  # but work goes on, and so do the kills
        (0, 0, 9.0, False),  # nothing is left to hit
    ],
)
def test_kills_come_every_second_and_early_enough_to_hit_work(left, kills, since, due):
    assert is_kill_due(TourProgress(1.0, 100, left, 0, kills), PLAN, since) is due


def test_a_tour_without_planned_kills_has_none():
    assert not is_kill_due(TourProgress(9.0, 100, 50, 0, 0), TourPlan(jobs=100, kills=0, workers=3), 9.0)


def test_the_handlers_log_is_read_while_it_grows_and_damage_is_not_overlooked(tmp_path):
    path, whole = tmp_path / "journal", b'{"job_id":1,"task_id":1,"attempt":1,"fence":1,"pid":7}\n'
    reader = StartLog(path)
    assert reader.read() == 0
    path.write_bytes(whole + whole[:20])
    assert (reader.read(), reader.latest(7, 5), reader.latest(8, 5)) == (1, [AttemptStart(1, 1, 1, 1, 7)], [])
    path.write_bytes(whole + whole)
    assert reader.read() == 2
    path.write_bytes(whole + whole + b"garbage\n")
    with pytest.raises(Broken):
        reader.read()
