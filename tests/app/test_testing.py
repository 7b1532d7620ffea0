"""What users get for tests of their own: a clock that stands still, a drain that moves it, and pytest fixtures."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from leasehold import Retry, Transient
from leasehold.errors import WaitTimeout
from leasehold.testing import Clock, drain

SAMPLE = '''
"""A user's own test of a user's own job."""

from datetime import timedelta

from leasehold import Leasehold, Retry, Transient
from leasehold.testing import Clock, drain


def test_a_reminder_goes_out_after_a_week_and_survives_an_outage(leasehold_app, leasehold_clock):
    assert isinstance(leasehold_app, Leasehold)
    assert isinstance(leasehold_clock, Clock)

    @leasehold_app.job(retry=Retry(attempts=3, delay_initial=60, delay_max=60))
    def remind(task, user: int):
        if task.attempt < 3:
            raise Transient("mail is down", retry_after=60)
        return f"reminded {user}"

    job = remind.submit({"user": 7}, delay=7 * 24 * 3600)
    leasehold_app.drain(wait_for_due=False)
    assert job.status == "NEW"
    drain(leasehold_app, leasehold_clock)
    assert job.output == "reminded 7"
    assert job.finished_at - job.created_at >= timedelta(days=7, seconds=120)


def test_the_next_test_gets_a_fresh_app(leasehold_app):
    assert leasehold_app.jobs() == []
'''


def test_a_users_test_has_the_fixtures_after_an_installation(tmp_path):
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_a_stopped_clock_decides_when_delayed_work_and_retries_are_due(app):
    clock = Clock(app)

    @app.job(retry=Retry(attempts=4, delay_initial=100, delay_max=100))
    def flaky(task):
        if task.attempt < 4:
            raise Transient("again", retry_after=3600)
        return task.attempt

    job = flaky.submit(delay=24 * 3600)
    app.drain(wait_for_due=False)
    assert job.status == "NEW"
    clock.advance(24 * 3600 - 1)
    app.drain(wait_for_due=False)
    assert job.status == "NEW"
    clock.advance(1)
    app.drain(wait_for_due=False)
    assert [event.name for event in app.journal.of(job.id)][-1] == "retried"
    drain(app, clock)
    assert job.output == 4
    assert job.finished_at - job.created_at >= timedelta(hours=24, minutes=15)


def test_a_clock_may_be_set_to_a_moment_and_a_store_may_be_given(app):
    clock = Clock(app.store)
    moment = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
    clock.set(moment)

    @app.job
    def nothing(): ...

    assert nothing.submit().created_at == moment
    assert clock.now == round(moment.timestamp() * 1_000_000)


def test_work_that_begets_work_for_ever_does_not_hang_a_test(app):
    clock = Clock(app)

    @app.job
    def stuck():
        app.submit("stuck", {}, delay=0)

    stuck.submit()
    with pytest.raises(WaitTimeout):
        drain(app, clock, timeout=0.5)
