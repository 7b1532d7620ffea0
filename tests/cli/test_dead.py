"""`leasehold dead`: the operator's workflow on the command line."""

import json
import os
import pwd

import pytest

from leasehold import Permanent
from leasehold.cli.options import ExitCode

USER = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def gate(app):
    """A kind that fails until the gate is opened."""
    gate = {"open": False}

    @app.job(name="deliver")
    def deliver(parcel: int):
        if not gate["open"]:
            raise Permanent("the gate is shut", error_class="GATE_SHUT")
        return parcel

    return gate


@pytest.fixture
def letter(app, gate):
    return fail(app, 1)


def fail(app, parcel):
    job = app.submit("deliver", {"parcel": parcel})
    app.drain(timeout=60)
    return next(one for one in app.deadletters.list() if one.job_id == job.id)


def test_the_workflow_is_walked_in_its_order(app, gate, letter, command):
    """S13, S17: each step prints what to do next, and the history names the user of the system."""
    refused = command("dead", "revive", letter.id)
    assert refused.exit_code == ExitCode.MISUSE
    assert f"leasehold dead evidence {letter.id}" in refused.stderr
    assert command("dead", "evidence", letter.id, "--text", "opened it", "--ticket", "OPS-7").exit_code == ExitCode.OK
    planned = command("dead", "plan", letter.id).stdout
    assert "(the job)  runs" in planned
    assert "refused" not in planned
    gate["open"] = True
    assert command("dead", "resolve", letter.id, "--notes", "early").exit_code == ExitCode.MISUSE
    assert f"job {letter.job_id} is in epoch 2" in command("dead", "revive", letter.id).stdout
    app.drain(timeout=60)
    assert command("dead", "resolve", letter.id, "--notes", "parcel is there").exit_code == ExitCode.OK
    shown = command("dead", "show", letter.id).stdout
    assert f"letter {letter.id}  GATE_SHUT  resolved" in shown
    assert "message        Permanent: the gate is shut" in shown
    assert "last stack" in shown
    for line in ('evidence  text "opened it", ticket "OPS-7"', "revive  epoch 2", 'resolve  notes "parcel is there"'):
        assert f"{USER}  {line}" in shown


def test_pressing_again_is_overtaken(letter, command):
    command("dead", "evidence", letter.id, "--text", "opened it")
    assert command("dead", "revive", letter.id).exit_code == ExitCode.OK
    again = command("dead", "revive", letter.id)
    assert (again.exit_code, "LETTER_REVIVED" in again.stderr) == (ExitCode.OVERTAKEN, True)


def test_letters_are_listed_for_people_and_for_programs(app, letter, command):
    fail(app, 2)
    head, newest, oldest = command("dead", "list").stdout.splitlines()
    assert head.split()[:3] == ["LETTER", "STATE", "JOB"]
    assert ("GATE_SHUT" in newest, oldest.split()[0]) == (True, str(letter.id))
    found = json.loads(command("dead", "list", "--json", "--state", "open", "--kind", "deliver", "--limit", 1).stdout)
    assert [one["error_class"] for one in found] == ["GATE_SHUT"]
    assert len(command("dead", "list", "--escalated").stdout.splitlines()) == 1
    older = json.loads(command("dead", "list", "--json", "--before", found[0]["id"]).stdout)
    assert [one["id"] for one in older] == [letter.id]


def test_a_letter_is_shown_whole_to_programs(letter, command):
    shown = json.loads(command("dead", "show", letter.id, "--json").stdout)
    assert shown["sanitized_context"]["error_class"] == shown["error_class"] == "GATE_SHUT"
    assert shown["history"][0]["audit"] == []
    assert shown.keys() >= {"last_stack", "stage", "attempts", "first_failure_at", "last_failure_at", "epoch"}
    plan = json.loads(command("dead", "plan", letter.id, "--from-start", "--json").stdout)
    assert (plan["from_start"], plan["refusal_code"]) == (True, "EVIDENCE_MISSING")


def test_many_are_tried_dry_then_remedied_and_revived_by_filter(app, letter, command):
    other = fail(app, 2)
    assert command("dead", "revive", letter.id, "--dry-run").exit_code == ExitCode.CHECK_FAILED
    dry = command("dead", "revive", "--kind", "deliver", "--dry-run")
    assert (dry.exit_code, dry.stdout) == (ExitCode.CHECK_FAILED, "0 letters would be revived\n")
    assert dry.stderr.count("EVIDENCE_MISSING") == 2
    printed = command("dead", "evidence", "--error-class", "GATE_SHUT", "--text", "opened it").stdout
    assert printed == f"2 letters have evidence: {other.id}, {letter.id}\n"
    done = command("dead", "revive", "--error-class", "GATE_SHUT", "--limit", 1)
    assert (done.exit_code, done.stdout) == (ExitCode.OK, f"1 letter is revived: {other.id}\n")
    assert done.stderr == "1 more letter left out because of --limit\n"
    assert command("dead", "revive", letter.id, "--dry-run").exit_code == ExitCode.OK
    assert [one.state for one in app.deadletters.list()] == ["revived", "open"]


@pytest.mark.parametrize(
    "words",
    [
        ("revive",),
        ("revive", 1, "--kind", "deliver"),
        ("evidence", "--text", "all of them"),
        ("evidence", 1, "--text", "   "),
        ("resolve", 1, "--notes", " "),
        ("answer", 1, "f" * 64),
        ("answer", 1, "f" * 64, "--happened", "1", "--did-not-happen"),
        ("answer", 1, "f" * 64, "--happened", "not json"),
        ("show", 99),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(letter, command, words):
    result = command("dead", *words)
    assert result.exit_code == ExitCode.MISUSE
    assert result.stderr.startswith("error ")


def test_an_answer_for_an_effect_that_is_not_there_is_overtaken(letter, command):
    assert command("dead", "answer", letter.id, "f" * 64, "--did-not-happen").exit_code == ExitCode.OVERTAKEN


def test_show_and_doctor_lead_to_the_letters(app, letter, command):
    assert f"letters    {letter.id} open" in command("show", letter.job_id).stdout
    assert json.loads(command("show", letter.job_id, "--json").stdout)["dead_letters"] == [letter.id]
    found = {one["name"]: one for one in json.loads(command("doctor", "--json").stdout)}
    assert found["dead letters"]["text"] == "1 open, 0 of them escalated"
    assert (found["dead letters"]["grade"], "leasehold dead list" in found["dead letters"]["advice"]) == ("warn", True)


def test_the_list_shows_why_each_task_failed(letter, command):
    for words in (["list"], ["show", letter.id]):
        assert "Permanent: the gate is shut" in command("dead", *words).stdout
    [listed] = json.loads(command("dead", "list", "--json").stdout)
    assert listed["message"] == "Permanent: the gate is shut"
