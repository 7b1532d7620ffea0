"""What follows when tasks settle, as pure decisions."""

import json

from leasehold.model.advance import Dependent, Ended, Moves, SettledTask, Tally, conclude, decide, fan_out
from leasehold.model.failure.failure import Failure
from leasehold.model.task import Facts


def part(task: int, on: int, unmet: int) -> Dependent:
    return Dependent(task, on, is_part=True, unmet=unmet, each_field=None)


def need(task: int, on: int, unmet: int, each: str | None = None) -> Dependent:
    return Dependent(task, on, is_part=False, unmet=unmet, each_field=each)


def ended(task: int, status="DONE") -> SettledTask:
    return SettledTask(task, f"s{task}", status)


def facts(output: object, each="list") -> Facts:
    text = None if output is None else json.dumps(output)
    return Facts(9, 1, "film", "audio", 3, each, "q", 2, 7_000, "bury", 1, 8, text)


def test_what_still_waits_for_others_is_counted_down():
    moves = decide([ended(1), ended(2)], [need(5, 1, 3), need(5, 2, 3), part(9, 1, 7), part(9, 2, 7)])
    assert moves.count_down == {5: 1, 9: 5}
    assert [moves.ready, moves.fan_out, moves.conclude, moves.cancel] == [[], [], [], []]


def test_the_last_prerequisite_makes_a_stage_ready_or_fan_out():
    moves = decide([ended(1)], [need(5, 1, 1), need(6, 1, 1, "list")])
    assert (moves.ready, moves.fan_out, moves.count_down) == ([5], [6], {})


def test_the_last_part_ends_its_job_however_it_ended():
    assert decide([ended(1, "ERROR")], [part(9, 1, 1)]).conclude == [9]
    assert decide([ended(1, "CANCELLED")], [part(9, 1, 1)]).conclude == [9]


def test_a_failed_prerequisite_cancels_however_many_others_are_done():
    moves = decide([ended(1), ended(2, "ERROR")], [need(5, 1, 2), need(5, 2, 2)])
    (cancelled,) = moves.cancel
    assert (cancelled.task_id, cancelled.status) == (5, "CANCELLED")
    assert json.loads(cancelled.failure or "")["error_class"] == "PREREQUISITE_FAILED"
    assert "stage 's2' ended ERROR" in (cancelled.failure or "")
    assert not moves.ready


def test_nothing_that_waits_means_nothing_to_do():
    assert decide([ended(1)], []) == Moves()


def test_a_job_without_trouble_is_done():
    assert conclude(1, None) == Ended(1, "DONE")
    assert conclude(1, Tally(1, 0, 0, None, None, None)) == Ended(1, "DONE")


def test_a_job_fails_with_the_cause_of_its_first_failure():
    end = conclude(1, Tally(1, 2, 5, "audio", 3, Failure("NETWORK_TIMEOUT", "too slow").text()))
    assert end.status == "ERROR"
    assert json.loads(end.failure or "") == {
        "error_class": "NETWORK_TIMEOUT",
        "message": "stage 'audio' segment 4 failed: too slow",
        "retryable": False,
    }


def test_a_failure_without_a_record_still_ends_its_job():
    assert "no reason recorded" in (conclude(1, Tally(1, 1, 0, "a", None, None)).failure or "")


def test_a_job_of_which_a_part_was_only_cancelled_ends_cancelled():
    end = conclude(1, Tally(1, 0, 1, "audio", None, None))
    assert (end.status, "stage 'audio' was cancelled" in (end.failure or "")) == ("CANCELLED", True)


def test_a_segment_inherits_the_terms_of_its_stage():
    segments = fan_out(facts({"list": ["x", {"b": 1, "a": 2}]}))
    assert isinstance(segments, list)
    assert [(one.segment, one.item) for one in segments] == [(0, '"x"'), (1, '{"a":2,"b":1}')]
    assert {(one.terms.queue, one.terms.attempts_max, one.terms.lease_ms, one.terms.on_lost) for one in segments} == {
        ("q", 2, 7_000, "bury")
    }
    assert {(one.job_id, one.parent_id, one.priority) for one in segments} == {(1, 9, 3)}


def test_what_is_no_list_cannot_fan_out():
    for output in (None, {"list": 3}, {"list": {"a": 1}}, {}, [1], "x"):
        answer = fan_out(facts(output))
        assert isinstance(answer, Ended)
        assert (answer.task_id, answer.status, answer.buried) == (9, "ERROR", True)
        assert '"error_class":"EACH_INVALID"' in (answer.failure or "")


def test_an_empty_list_ends_its_stage_well():
    assert fan_out(facts({"list": []})) == Ended(9, "DONE")


def test_ten_thousand_items_fan_out_and_one_more_does_not():
    assert len(fan_out(facts({"list": [0] * 10_000}))) == 10_000  # type: ignore[arg-type]
    answer = fan_out(facts({"list": [0] * 10_001}))
    assert isinstance(answer, Ended)
    assert '"error_class":"FAN_OUT_TOO_LARGE"' in (answer.failure or "")
