"""`jobs`, `show`, `cancel` and `queues`: what operators see and do."""

import json

import pytest

from leasehold.cli.options import ExitCode
from leasehold.model.failure.loss import Reclaim
from leasehold.testing import Clock
from tests.store import work
from tests.support.wait import until


def ids(result) -> list[int]:
    return [job["id"] for job in json.loads(result.stdout)]


def test_jobs_are_listed_newest_first_and_filtered(app, command):
    made = [app.submit("greet", {"name": "Ada"}).id, app.submit("refuse", {"why": "no"}).id]
    app.drain(timeout=60)
    made.append(app.submit("greet", {"name": "Bob"}).id)
    assert ids(command("jobs", "--json")) == made[::-1]
    assert ids(command("jobs", "--json", "--kind", "greet")) == [made[2], made[0]]
    assert ids(command("jobs", "--json", "--status", "error")) == [made[1]]
    assert ids(command("jobs", "--json", "--queue", "mail", "--status", "DONE")) == [made[0]]


def test_a_page_of_jobs_continues_where_the_last_one_ended(app, command):
    made = [job.id for job in app.submit_many("greet", [{"name": str(number)} for number in range(5)])]
    first = ids(command("jobs", "--json", "--limit", 2))
    second = ids(command("jobs", "--json", "--limit", 2, "--before", first[-1]))
    assert first + second == made[:0:-1]


def test_jobs_are_listed_by_the_start_of_their_keys_together_with_their_kind(app, command):
    made = [app.submit("greet", {"name": "Ada"}, key=key).id for key in ("7%/a", "7%/b", "70/a")]
    assert ids(command("jobs", "--json", "--kind", "greet", "--key-prefix", "7%")) == [made[1], made[0]]
    alone = command("jobs", "--key-prefix", "7")
    assert (alone.exit_code, "pass the kind" in alone.stderr) == (ExitCode.MISUSE, True)


def test_the_list_for_people_shows_status_key_and_failure(app, command):
    app.submit("refuse", {"why": "not with me"}, key="order 7")
    app.drain(timeout=60)
    head, line = command("jobs").stdout.splitlines()
    assert head.split() == ["ID", "STATUS", "KIND", "KEY", "SUBMITTED", "TOOK", "FAILURE"]
    assert "ERROR   refuse  order 7" in line
    assert "PERMANENT: Permanent: not with me" in line


def test_a_pipeline_is_shown_with_its_stages_segments_and_time_line(app, command):
    job = app.submit("film", {"scenes": 3}, key="a.md")
    app.drain(timeout=60)
    shown = command("show", job.id).stdout
    assert f"job {job.id}  film  DONE" in shown
    assert '  output     {"render": 30}' in shown
    assert "  tasks      5 of 5 done\n" in shown
    stages = [line.split()[1:3] for line in shown.splitlines() if " DONE " in line and "audio" in line]
    assert stages == [["audio", "[1]"], ["audio", "[2]"], ["audio", "[3]"]]
    assert "+0.000 s" in shown
    assert [word in shown for word in ("submitted", "advanced", "claimed", "done")] == [True] * 4


def test_a_job_is_shown_whole_to_programs(app, command):
    job = app.submit("film", {"scenes": 2})
    app.drain(timeout=60)
    answer = json.loads(command("show", job.id, "--json").stdout)
    parts = [(task["stage"], task["segment"], task["status"], task["attempt"]) for task in answer["tasks"]]
    assert parts == [
        (None, None, "DONE", 0),
        ("script", None, "DONE", 1),
        ("audio", None, "DONE", 0),
        ("render", None, "DONE", 1),
        ("audio", 0, "DONE", 1),
        ("audio", 1, "DONE", 1),
    ]
    assert answer["output"] == {"render": 10}
    assert (answer["counts"]["done"], answer["counts"]["total"]) == (4, 4)
    assert answer["events_left_out"] == 0
    since = [event["since"] for event in answer["events"]]
    assert since == sorted(since)


def test_a_long_time_line_keeps_its_latest_lines(app, command):
    job = app.submit("film", {"scenes": 60})
    app.drain(timeout=60)
    shown = command("show", job.id, "--events", 3).stdout
    assert "earlier lines left out" in shown
    assert "audio: 60 segments: 60 DONE; 40 are shown" in shown
    assert shown.splitlines()[-1].split()[2:4] == [str(job.id), "done"]


def test_a_running_task_is_shown_with_who_holds_it_and_until_when(command, processes):
    worker = processes.start("worker", "tests.support.apps.app:app", "--queue", "hold=1")
    until(lambda: worker.has_logged("worker_started"))
    job = int(command("submit", "hold", '{"name": "gate"}').stdout)
    until(lambda: "expires in" in command("show", job).stdout)
    shown = command("show", job).stdout
    assert f":{worker.pid}, expires in " in shown
    assert "1 of 5" in shown
    asked = command("cancel", job, "--reason", "enough")
    assert asked.stdout == f"job {job} is asked to stop\n"
    until(lambda: "CANCELLED" in command("jobs").stdout)
    assert "enough" in command("show", job).stdout


def test_attempts_that_lost_their_worker_are_shown_apart_from_those_that_failed(store, app, command):
    clock, worker = Clock(store), work.register(store)
    [job] = work.submit(store, "k", attempts_max=2)

    for _ in range(2):
        lost = work.claim_one(store, worker)
        store.leases.reclaim([Reclaim(lost.task_id, lost.fence, "owner gone")])
    assert " READY   2 (0 of 2 failed, 2 lost)" in command("show", job).stdout
    store.leases.settle([work.retry(work.claim_one(store, worker), 60)])
    assert "attempt 3 (1 of 2 failed, 2 lost) failed with" in command("explain", job).stdout
    clock.advance(61)
    store.stages.make_due()
    last = work.claim_one(store, worker)
    assert " RUNNING  4 (1 of 2 failed, 2 lost)" in command("show", job).stdout
    assert "attempt 4 (1 of 2 failed, 2 lost) on " in command("explain", job).stdout
    work.fail(store, [last])
    assert " ERROR   4 (2 of 2 failed, 2 lost)" in command("show", job).stdout
    assert (app.get(job).tasks[0].attempt, app.get(job).tasks[0].losses) == (4, 2)


def test_an_attempt_after_a_revival_is_counted_from_one_and_the_letter_keeps_its_losses(store, app, command):
    worker = work.register(store)
    [job] = work.submit(store, "k")
    lost = work.claim_one(store, worker)
    store.leases.reclaim([Reclaim(lost.task_id, lost.fence, "owner gone")])
    work.fail(store, [work.claim_one(store, worker)])
    command("dead", "evidence", 1, "--text", "mended")
    assert command("dead", "revive", 1).exit_code == 0
    assert app.get(job).tasks[0].attempt == 0
    work.finish(store, [work.claim_one(store, worker)])
    assert " DONE    1 of 5" in command("show", job).stdout
    assert "  2 (1 lost)  " in command("dead", "list").stdout
    assert "2 in epoch 1; 1 of them lost their worker" in command("dead", "show", 1).stdout
    [letter] = app.deadletters.list()
    assert (letter.attempts, letter.losses) == (2, 1)


def test_a_cancelled_job_stays_cancelled_and_a_settled_one_as_it_is(app, command):
    waiting, done = app.submit("film", {"scenes": 1}, delay=60), app.submit("greet", {"name": "Ada"})
    result = command("cancel", waiting.id, "--reason", "ordered twice")
    assert (result.exit_code, result.stdout) == (0, f"job {waiting.id} is CANCELLED\n")
    assert "ordered twice" in command("show", waiting.id).stdout
    assert command("cancel", waiting.id).exit_code == 0
    app.drain(timeout=60)
    late = command("cancel", done.id)
    assert (late.exit_code, done.status) == (ExitCode.CHECK_FAILED, "DONE")
    assert "and was not changed" in late.stderr


def test_queues_are_listed_paused_resumed_and_limited(app, command):
    app.submit("greet", {"name": "Ada"})
    assert command("queues", "pause", "mail").exit_code == 0
    assert command("queues", "limit", "mail", 4).exit_code == 0
    assert app.queues.all()[0].rate is None
    limited = command("queues", "limit", "mail", 4, "--rate", 0.5)
    assert limited.stdout == "queue mail runs at most 4 at once and starts at most 0.5 per second\n"
    assert (app.queues.all()[0].capacity, app.queues.all()[0].rate) == (4, 0.5)
    head, line = command("queues").stdout.splitlines()
    assert head.split() == ["QUEUE", "STATE", "LIMIT", "RATE", "NEW", "READY", "RUNNING"]
    assert line.split() == ["mail", "paused", "4", "0.5/s", "0", "1", "0"]
    assert command("queues", "resume", "mail").exit_code == 0
    assert command("queues", "limit", "mail", "none").exit_code == 0
    (queue,) = json.loads(command("queues", "list", "--json").stdout)
    assert queue == {"name": "mail", "paused": False, "capacity": None, "waiting": 0, "ready": 1, "running": 0} | {
        "rate": None
    }


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["pause", "Mail Queue"], "NAME_INVALID"),
        (["limit", "mail", "many"], "OPTION_INVALID"),
        (["limit", "mail", "none", "--rate", "1"], "OPTION_INVALID"),
        (["limit", "mail", "0"], "OPTION_INVALID"),
        (["limit", "mail", "9" * 5000], "OPTION_INVALID"),
    ],
)
def test_a_queue_is_not_set_to_what_it_cannot_be(command, words, code):
    result = command("queues", *words)
    assert (result.exit_code, result.stderr.partition(":")[0]) == (ExitCode.MISUSE, f"error {code}")
