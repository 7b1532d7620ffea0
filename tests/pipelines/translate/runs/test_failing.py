"""Translators that fail: for good, with the reason told, until it is mended; or for a while, and are waited for."""

import json
import re
import time

import pytest

from tests.pipelines.translate.commanding import HOUSE, TABLE, Desk, endpoint, inputs_of, spanish, told
from tests.support.http.model_endpoint import EndpointServer, Reply, refusal
from tests.support.wait import until

RETRIED = "SELECT count(*) FROM event WHERE name = 'retried'"


def good(asked):
    return told(inputs_of(asked))


def test_what_a_translator_refuses_stands_still_with_the_reason_until_the_cause_is_mended(database, tmp_path):
    desk = Desk(tmp_path, database)
    desk.write(HOUSE, TABLE)
    with endpoint(desk, lambda _: refusal(401, "no such key")) as server:
        failed = desk.translate()
        assert failed.exit_code == 1, failed.output
        assert len(server.asked) == 2  # asked once for each, and not again and again
        assert failed.stdout.splitlines()[1:4] == ["       2  ingested", "", "2 stand still:"]
        assert failed.stdout.count("401") == 2
        rows = json.loads(desk.about("status", "--json").stdout)
        assert all("401" in row["failure"] and row["state"] == "ingested" for row in rows)
        assert (desk.run_folder / "report.html").read_text().count("401") == 2
        assert desk.final() == [HOUSE, TABLE]
        server.script = good
        mended = desk.translate()
    assert (mended.exit_code, mended.stdout.splitlines()[0]) == (0, "2 paragraphs, 2 tried again")
    assert desk.final() == [spanish(HOUSE), spanish(TABLE)]
    assert desk.translate().stdout.splitlines()[0] == "2 paragraphs, nothing new"
    assert len(server.asked) == 4


def test_one_paragraph_that_is_refused_does_not_keep_the_others_from_being_done(desk):
    desk.write(HOUSE, TABLE)
    with endpoint(desk, lambda asked: refusal(400, "not this") if inputs_of(asked) == HOUSE else good(asked)):
        answer = desk.translate()
    assert answer.exit_code == 1
    assert desk.status() == ["ingested", "approved"]
    assert desk.final() == [HOUSE, spanish(TABLE)]


def test_a_model_that_keeps_losing_marks_leaves_its_paragraph_to_a_person_with_what_it_said(desk):
    """Twice it is asked again; then what it said is a candidate as any, and the reviewers say what is missing."""
    linked = "The [house](https://example.org/house) is red."
    desk.write(linked, TABLE)

    def forgetful(asked):
        return told(re.sub(r"⟦\d+⟧", "", inputs_of(asked)))

    with endpoint(desk, forgetful) as server:
        answer = desk.translate()
        assert (answer.exit_code, desk.status()) == (1, ["rework_required", "approved"]), answer.output
        assert sum("house" in inputs_of(asked) for asked in server.asked) == 6  # three in each pass
    (queued,) = desk.rows("state/rework_queue.jsonl")
    assert {"policy_violation", "human_flag"} <= set(queued["reason_codes"])
    assert desk.final() == [linked, spanish(TABLE)]
    mended = "La [casa](https://example.org/house) es roja."
    assert desk.about("approve", "1", "--text", mended).exit_code == 0
    assert desk.final() == [mended, spanish(TABLE)]


def test_an_endpoint_that_asks_for_patience_is_given_it(desk):
    desk.write(HOUSE)
    times, left = [], [Reply(status=429, headers=(("Retry-After", "2"),))]

    def answer(asked):
        times.append(time.monotonic())
        return left.pop() if left else good(asked)

    with endpoint(desk, answer):
        assert desk.translate().exit_code == 0
    assert len(times) == 2
    assert times[1] - times[0] >= 2
    assert desk.final() == [spanish(HOUSE)]


def test_an_endpoint_that_is_not_there_yet_is_waited_for(desk):
    desk.write(HOUSE)
    with EndpointServer(good) as gone:
        port = int(gone.base.rpartition(":")[2])
        desk.translator = f"openai:some-model@{gone.base}/v1"
    with desk.process() as hand:
        until(lambda: not hand.running or (desk.run_folder / "manifest.json").exists())
        until(lambda: not hand.running or desk.ask(RETRIED) != [(0,)])
        assert hand.running, hand.log
        with endpoint(desk, good, port) as server:
            assert hand.end() == 0, hand.log
    assert len(server.asked) == 1
    assert desk.final() == [spanish(HOUSE)]


@pytest.mark.parametrize("option", ["--reviewer", "--back-translator", "--translator"])
def test_a_translator_or_reviewer_that_does_not_exist_is_refused_before_anything_is_written(desk, option):
    desk.write(HOUSE)
    answer = desk.translate(option, "oracle:delphi")
    assert answer.exit_code == 2
    assert "TRANSLATOR_INVALID" in answer.stderr
    assert not desk.out.exists()
