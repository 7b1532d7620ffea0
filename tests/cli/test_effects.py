"""`leasehold effects`: what a job has done to the outside world."""

import json

from leasehold import InDoubt, Retry, Transient


def made(app):
    @app.job(retry=Retry(attempts=2, delay_initial=0))
    def buy(task):
        task.effect("BUY", lambda: {"id": 7}, item="\x1b[31mred")
        if task.attempt == 1:
            raise Transient
        task.effect("SHIP", lambda: 1 / 0)

    job = buy.submit()
    app.drain(timeout=60)
    return job


def test_effects_are_listed_in_order_with_their_states_and_no_terminal_escape(app, command):
    done = command("effects", str(made(app).id))
    assert done.exit_code == 0
    first, second = done.output.splitlines()[1:3]
    assert "BUY" in first
    assert "done" in first
    assert '{"id": 7}' in first
    assert "\x1b" not in done.output
    assert "SHIP" in second
    assert "failed" in second


def test_effects_as_json_have_whole_keys_and_values(app, command):
    found = json.loads(command("effects", str(made(app).id), "--json").output)
    assert [one["state"] for one in found] == ["done", "failed"]
    assert len(found[0]["key"]) == 64
    assert found[0]["result"] == {"id": 7}


def test_effects_of_a_job_that_does_not_exist_are_refused(command):
    assert command("effects", "999").exit_code == 2


def called_off(app):
    """A job that was called off while its effect was in doubt: it has no letter."""

    @app.job
    def buy(task):
        def act():
            app.cancel(task.lease.job_id)
            raise InDoubt

        return task.effect("BUY", act)

    job = buy.submit()
    app.drain(timeout=60)
    return job


def test_an_effect_in_doubt_of_a_job_that_was_called_off_is_answered_here(app, command):
    job = str(called_off(app).id)
    listed = command("effects", job)
    assert "1 effect in doubt" in listed.output
    assert "--answer" in listed.output
    (one,) = json.loads(command("effects", job, "--json").output)
    assert command("effects", job, "--answer", one["key"][:12]).exit_code == 2
    assert command("effects", job, "--answer", one["key"][:12], "--happened", "{").exit_code == 2
    answered = command("effects", job, "--answer", one["key"][:12], "--happened", '{"id": 9}')
    assert (answered.exit_code, "this is on record" in answered.output) == (0, True)
    (one,) = json.loads(command("effects", job, "--json").output)
    assert (one["state"], one["result"]) == ("done", {"id": 9})
    assert command("effects", job, "--answer", one["key"], "--did-not-happen").exit_code == 4
