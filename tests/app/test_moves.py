"""Moves that an async handler asks for and does not wait for at once."""

from tests.app.test_machines import AT_ONCE, moves, parcel
from tests.support.db import check_journal


def test_s6_moves_of_several_things_asked_for_at_once_are_all_made_and_all_on_record(app, url):
    @app.job(machine=parcel(app), retry=AT_ONCE)
    async def send(task):
        asked = [task.advance(state, of=name) for state in ("LEASED", "PACKED") for name in ("a", "b", "c")]
        await asked[-1]
        if task.attempt == 1:
            raise OSError("once more, from the top")
        return await task.effect("ACT", lambda: "acted")

    job = send.submit()
    app.drain(timeout=60)
    assert (job.status, job.states) == ("DONE", {"": "PLANNED", "a": "PACKED", "b": "PACKED", "c": "PACKED"})
    assert len(moves(url, job.id)) == 6
    assert app.journal.verify(job.id).equal
    check_journal(url)


def test_a_task_does_not_end_before_the_moves_that_it_has_not_waited_for(app, url):
    """More than one group of them; a task that is DONE has made them all."""

    @app.job(machine=parcel(app))
    async def send(task):
        for number in range(1_500):
            task.advance("LEASED", of=str(number))

    job = send.submit()
    app.drain(timeout=120)
    assert job.status == "DONE"
    assert len(job.states) == 1_501
    check_journal(url)


def test_a_move_that_is_denied_fails_the_task_though_nobody_has_waited_for_it(app):
    @app.job(machine=parcel(app))
    async def send(task):
        task.advance("SENT")
        return "sent"

    job = send.submit()
    app.drain(timeout=60)
    assert (job.status, job.failure["error_class"]) == ("ERROR", "STATE_TRANSITION_DENIED")
