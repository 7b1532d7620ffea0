"""Translators that fail: for good, with a reason, until it is fixed; or for a while, and are waited for."""

import json
import re
import time

import pytest

from tests.pipelines.translate.workspace import HOUSE, TABLE, Workspace, answer_to, endpoint, requested_text, spanish
from tests.support.http.model_endpoint import EndpointServer, Reply, refusal
from tests.support.wait import until

RETRIED = "SELECT count(*) FROM event WHERE name = 'retried'"


def good(asked):
    return answer_to(requested_text(asked))


def test_what_a_translator_refuses_waits_with_the_reason_until_the_cause_is_fixed(database, tmp_path):
    workspace = Workspace(tmp_path, database)
    workspace.write(HOUSE, TABLE)
    with endpoint(workspace, lambda _: refusal(401, "no such key")) as server:
        failed = workspace.translate()
        assert failed.exit_code == 1, failed.output
        assert len(server.asked) == 2  # asked once for each, and not again and again
        assert failed.stdout.splitlines()[1:4] == ["       2  ingested", "", "2 failed:"]
        assert failed.stdout.count("401") == 2
        rows = json.loads(workspace.about("status", "--json").stdout)
        assert all("401" in row["failure"] and row["state"] == "ingested" for row in rows)
        assert (workspace.run_folder / "report.html").read_text().count("401") == 2
        assert workspace.final() == [HOUSE, TABLE]
        server.script = good
        mended = workspace.translate()
    assert (mended.exit_code, mended.stdout.splitlines()[0]) == (0, "2 paragraphs, 2 retried")
    assert workspace.final() == [spanish(HOUSE), spanish(TABLE)]
    assert workspace.translate().stdout.splitlines()[0] == "2 paragraphs, nothing new"
    assert len(server.asked) == 4


def test_one_paragraph_that_is_refused_does_not_keep_the_others_from_being_done(workspace):
    workspace.write(HOUSE, TABLE)
    with endpoint(workspace, lambda asked: refusal(400, "not this") if requested_text(asked) == HOUSE else good(asked)):
        answer = workspace.translate()
    assert answer.exit_code == 1
    assert workspace.status() == ["ingested", "approved"]
    assert workspace.final() == [HOUSE, spanish(TABLE)]


def test_a_model_that_keeps_losing_placeholders_leaves_its_paragraph_to_a_person_with_its_last_answer(workspace):
    """Twice it is asked again; then its answer is a candidate as any, and the reviewers find what is missing."""
    linked = "The [house](https://example.org/house) is red."
    workspace.write(linked, TABLE)

    def forgetful(asked):
        return answer_to(re.sub(r"⟦\d+⟧", "", requested_text(asked)))

    with endpoint(workspace, forgetful) as server:
        answer = workspace.translate()
        assert (answer.exit_code, workspace.status()) == (1, ["rework_required", "approved"]), answer.output
        assert sum("house" in requested_text(asked) for asked in server.asked) == 6  # three in each pass
    (queued,) = workspace.rows("state/rework_queue.jsonl")
    assert {"policy_violation", "human_flag"} <= set(queued["reason_codes"])
    assert workspace.final() == [linked, spanish(TABLE)]
    mended = "La [casa](https://example.org/house) es roja."
    assert workspace.about("approve", "1", "--text", mended).exit_code == 0
    assert workspace.final() == [mended, spanish(TABLE)]


def test_an_endpoint_that_asks_for_patience_is_given_it(workspace):
    workspace.write(HOUSE)
    times, left = [], [Reply(status=429, headers=(("Retry-After", "2"),))]

    def answer(asked):
        times.append(time.monotonic())
        return left.pop() if left else good(asked)

    with endpoint(workspace, answer):
        assert workspace.translate().exit_code == 0
    assert len(times) == 2
    assert times[1] - times[0] >= 2
    assert workspace.final() == [spanish(HOUSE)]


def test_an_endpoint_that_is_not_there_yet_is_waited_for(workspace):
    workspace.write(HOUSE)
    with EndpointServer(good) as gone:
        port = int(gone.base.rpartition(":")[2])
        workspace.translator = f"openai:some-model@{gone.base}/v1"
    with workspace.process() as command:
        until(lambda: not command.running or (workspace.run_folder / "manifest.json").exists())
        until(lambda: not command.running or workspace.ask(RETRIED) != [(0,)])
        assert command.running, command.log
        with endpoint(workspace, good, port) as server:
            assert command.end() == 0, command.log
    assert len(server.asked) == 1
    assert workspace.final() == [spanish(HOUSE)]


@pytest.mark.parametrize("option", ["--reviewer", "--back-translator", "--translator"])
def test_a_translator_or_reviewer_that_does_not_exist_is_refused_before_anything_is_written(workspace, option):
    workspace.write(HOUSE)
    answer = workspace.translate(option, "oracle:delphi")
    assert answer.exit_code == 2
    assert "TRANSLATOR_INVALID" in answer.stderr
    assert not workspace.out.exists()
