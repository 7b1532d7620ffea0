"""`leasehold explain`, and what `show` and `doctor` take from it: the advice is a command that works."""

import json
import re
import shlex

import pytest

from leasehold.cli.options import ExitCode
from leasehold.runtime.process_identity import this_process
from leasehold.store.workers import Serving


@pytest.fixture
def advised(command):
    """Runs the commands of an explanation's advice, as they stand there."""

    def run(job):
        for words in re.findall(r"`leasehold ([^`]+)`", job.explain().advice):
            result = command(*shlex.split(words))
            assert result.exit_code == 0, result.stderr

    return run


def register(app, *queues):
    routes = ["greet", "refuse", "film/script", "film/audio", "film/render"]
    return app.store.workers.register(this_process(), Serving(dict.fromkeys(queues), routes, 10))


def test_why_and_what_to_do_are_printed_and_given_to_programs(app, command):
    app.queues.pause("mail")
    job = app.submit("greet", {"name": "Ada"})
    assert command("explain", job.id).stdout.splitlines() == [
        f"job {job.id}  READY",
        "  It waits because the queue 'mail' is paused.",
        "  -> Resume it with `leasehold queues resume mail`.",
    ]
    answer = json.loads(command("explain", job.id, "--json").stdout)
    assert (answer["job_id"], answer["status"]) == (job.id, "READY")
    (cause,) = answer["causes"]
    assert (cause["code"], cause["task_id"], cause["tasks"]) == ("QUEUE_PAUSED", job.id, 1)


def test_a_job_that_is_not_there_is_a_misuse(command, app):
    app.migrate()
    assert command("explain", 404).exit_code == ExitCode.MISUSE


def test_the_advice_about_a_paused_queue_resumes_it(app, advised):
    register(app, "mail")
    app.queues.pause("mail")
    job = app.submit("greet", {"name": "Ada"})
    advised(job)
    assert job.explain().code == "ABOUT_TO_START"


def test_the_advice_about_a_full_limit_raises_it(app, advised):
    worker = register(app, "mail")
    app.queues.limit("mail", 1)
    running, job = app.submit("greet", {"name": "Ada"}), app.submit("greet", {"name": "Bob"})
    app.store.leases.claim_limited(worker, "mail", '["greet"]', 1)
    assert (running.status, job.explain().code) == ("RUNNING", "LIMIT_FULL")
    advised(job)
    assert job.explain().code == "ABOUT_TO_START"


def test_the_advice_about_a_limit_with_a_rate_keeps_the_rate(app, advised):
    worker = register(app, "mail")
    app.queues.limit("mail", 1, rate=0.5)
    running, job = app.submit("greet", {"name": "Ada"}), app.submit("greet", {"name": "Bob"})
    app.store.leases.claim_limited(worker, "mail", '["greet"]', 1)
    assert (running.status, job.explain().code) == ("RUNNING", "LIMIT_FULL")
    advised(job)
    assert [(queue.capacity, queue.rate) for queue in app.queues.all()] == [(2, 0.5)]


def test_the_advice_about_a_dead_letter_revives_it(app, advised):
    job = app.submit("refuse", {"why": "no"})
    app.drain(timeout=60)
    advised(job)
    assert job.status == "READY"


def test_a_job_is_shown_with_why_it_does_not_run(app, command):
    job = app.submit("greet", {"name": "Ada"})
    shown = command("show", job.id).stdout
    assert "  why        It is ready, and no worker is running.\n" in shown
    assert "  to do      Start one with `leasehold worker MODULE:APP`" in shown
    answer = json.loads(command("show", job.id, "--json").stdout)
    assert answer["explanation"]["causes"][0]["code"] == "NO_WORKER"
    app.drain(timeout=60)
    assert "  why " not in command("show", job.id).stdout


def test_the_doctor_lists_what_is_ready_and_what_nobody_serves(app, command):
    def found():
        findings = json.loads(command("doctor", "--json").stdout)
        return next(finding for finding in findings if finding["name"] == "unserved")

    app.migrate()
    register(app, "default")
    assert (found()["grade"], found()["text"]) == ("ok", "nothing is ready")
    job = app.submit("greet", {"name": "Ada"})
    app.submit("greet", {"name": "Bob"}, branch="example.org")
    unserved = found()
    assert unserved["grade"] == "warn"
    assert unserved["text"].startswith("2 of 'greet' in queue 'mail': no live worker that has 'greet' serves the queue")
    assert unserved["advice"].endswith(f"See `leasehold explain {job.id}`.")
    register(app, "mail")
    assert found()["grade"] == "ok"
