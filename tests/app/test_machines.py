"""`app.machine` and `task.advance`: states in addition to the status; only declared transitions, all on record."""

import threading

import pytest
from msgspec.structs import replace

from leasehold import Leasehold, Permanent, Retry, clock
from leasehold.errors import LeaseLost, MachineInvalid, Misuse, StateDenied
from leasehold.model.machine import Step, make_move
from tests.support.db import check_journal, check_places, connected, rows
from tests.support.manual_leases import claim, enrol

ARROWS = {
    "PLANNED": ["LEASED"],
    "LEASED": ["PACKED", "LOST"],
    "PACKED": ["SENT", "LOST"],
    "SENT": ["ARRIVED", "LOST"],
}
AT_ONCE = Retry(attempts=3, delay_initial=0)
REWORK = {"made": "reviewed", "reviewed": ["approved", "rework"], "rework": "made"}


def parcel(app):
    return app.machine("parcel", ARROWS, initial="PLANNED", failed="LOST")


def moves(url, task):
    found = rows(url, "SELECT task_id, detail FROM event WHERE name = 'moved' ORDER BY id")
    return [detail for one, detail in found if one == task]


def test_s6_a_job_moves_along_its_arrows_and_each_move_is_a_line_of_the_journal(app, url):
    @app.job(machine=parcel(app))
    def send(task):
        for state in ("LEASED", "PACKED", "SENT", "ARRIVED"):
            task.advance(state)

    job = send.submit()
    assert job.state == "PLANNED"
    app.drain(timeout=60)
    assert (job.status, job.state) == ("DONE", "ARRIVED")
    assert moves(url, job.id) == [
        '{"from":"PLANNED","to":"LEASED"}',
        '{"from":"LEASED","to":"PACKED"}',
        '{"from":"PACKED","to":"SENT"}',
        '{"from":"SENT","to":"ARRIVED"}',
    ]
    assert app.journal.verify(job.id).equal
    check_journal(url)


def test_an_async_handler_awaits_its_moves(app):
    @app.job(machine=parcel(app))
    async def send(task):
        await task.advance("LEASED")
        await task.advance("PACKED")

    job = send.submit()
    app.drain(timeout=60)
    assert (job.status, job.state) == ("DONE", "PACKED")


def test_a_move_without_an_arrow_is_denied_and_changes_nothing(app, url):
    errors = []

    @app.job(machine=parcel(app), retry=AT_ONCE)
    def send(task):
        task.advance("LEASED")
        for state in ("SENT", "PLANNED", "LEASED", "FLOWN"):
            with pytest.raises(StateDenied) as denied:
                task.advance(state)
            errors.append(str(denied.value))
        task.advance("SENT")

    job = send.submit()
    app.drain(timeout=60)
    assert job.failure["error_class"] == "STATE_TRANSITION_DENIED"
    assert (job.status, job.state, job.states) == ("ERROR", "LOST", {"": "LOST"})
    assert len(moves(url, job.id)) == 1
    assert ["is LEASED" in one for one in errors] == [True, True, True, False]
    assert "PLANNED, LEASED, PACKED" in errors[3]


def test_an_attempt_that_starts_from_the_top_repeats_no_move(app, url):
    @app.job(machine=parcel(app), retry=AT_ONCE)
    def send(task):
        task.advance("LEASED")
        task.advance("PACKED")
        if task.attempt == 1:
            raise OSError("the van is late")
        task.advance("SENT")

    job = send.submit()
    app.drain(timeout=60)
    assert (job.status, job.state, len(moves(url, job.id))) == ("DONE", "SENT", 3)
    fences = rows(url, "SELECT fence FROM event WHERE name = 'moved' ORDER BY id")
    assert fences == [(1,), (1,), (2,)]


def test_parts_of_a_job_have_states_of_their_own_and_may_go_in_circles(app, url):
    text = app.machine("text", REWORK, initial="made")
    book = app.pipeline("book", machine=text)

    @book.stage
    def split(task):
        return {"paragraphs": ["p1", "p2"]}

    @book.stage(after=split, each="paragraphs", retry=AT_ONCE)
    def translate(task):
        task.advance("reviewed", of=task.segment)
        if task.segment == "p2":
            task.advance("rework", of=task.segment)
            task.advance("made", of=task.segment)
            if task.attempt == 1:
                raise OSError("again")
            task.advance("reviewed", of=task.segment)
        task.advance("approved", of=task.segment)

    job = book.submit()
    app.drain(timeout=60)
    assert job.states == {"": "made", "p1": "approved", "p2": "approved"}
    second = rows(url, """SELECT detail FROM event WHERE name = 'moved' AND detail LIKE '%"of":"p2"%' ORDER BY id""")
    assert [detail.rpartition(":")[2] for (detail,) in second] == [
        '"reviewed"}',
        '"rework"}',
        '"made"}',
        '"reviewed"}',
        '"approved"}',
    ]


@pytest.mark.parametrize("name", ['"', "}", "naïve \N{PILE OF POO}", '","to":"SENT"}', "\\", "to"])
def test_what_a_state_is_of_may_have_any_name(app, name):
    @app.job(machine=parcel(app))
    def send(task):
        task.advance("LEASED", of=name)
        task.advance("LEASED")

    job = send.submit()
    app.drain(timeout=60)
    assert job.states == {"": "LEASED", name: "LEASED"}
    assert app.journal.verify(job.id).equal


def test_s2_a_lost_lease_moves_nothing(app, url):
    machine = parcel(app)
    kind = app.job(lambda: None, name="send", machine=machine)
    job = kind.submit()
    [old] = claim(app.store, enrol(app.store), "send")
    with connected(url) as connection:
        connection.execute("UPDATE lease SET expires_at = 1")
    assert app.store.machines.move([make_move(old, machine, "LEASED", "", 1)]) == []
    assert (job.state, moves(url, job.id)) == ("PLANNED", [])


def test_a_handler_whose_lease_is_lost_learns_it_when_it_moves(app, url):
    learnt = []

    @app.job(machine=parcel(app), lease=600)
    def send(task):
        if task.attempt == 1:
            with connected(url) as connection:  # expired a moment ago: what expired long ago is swept now and then
                connection.execute(f"UPDATE lease SET expires_at = {clock.wall() - clock.SECOND}")  # noqa: S608
            with pytest.raises(LeaseLost):
                task.advance("LEASED")
            learnt.append(task.attempt)

    job = send.submit()
    app.drain(timeout=60)
    assert (learnt, job.state) == ([1], "PLANNED")


def test_s6_a_move_is_made_once_when_its_answer_was_lost(app, url):
    machine = parcel(app)
    kind = app.job(lambda: None, name="send", machine=machine)
    job = kind.submit()
    [lease] = claim(app.store, enrol(app.store), "send")
    asked = make_move(lease, machine, "LEASED", "", 1)
    verdicts = [app.store.machines.move([asked])[0].verdict for _ in range(3)]
    assert verdicts == [Step.MOVED, Step.RETRY, Step.RETRY]
    assert (job.state, len(moves(url, job.id))) == ("LEASED", 1)


def test_many_moves_of_one_thing_are_made_one_after_the_other(app, url):
    machine = parcel(app)
    kind = app.job(lambda: None, name="send", machine=machine)
    jobs = [kind.submit(key=str(number)) for number in range(3)]
    leases = claim(app.store, enrol(app.store), "send", most=3)
    states = ("LEASED", "PACKED", "LOST")
    asked = [make_move(lease, machine, state, "one", 1) for lease, state in zip(leases, states, strict=True)]
    same = [replace(move, job_id=jobs[0].id) for move in asked]
    assert [entry.verdict for entry in app.store.machines.move(same)] == [Step.MOVED] * 3
    assert jobs[0].states == {"": "PLANNED", "one": "LOST"}


def test_a_change_of_a_state_by_plain_sql_is_refused_by_the_database(app, url):
    @app.job(machine=parcel(app))
    def send(task):
        task.advance("LEASED")

    job = send.submit()
    app.drain(timeout=60)
    attempts = [
        "UPDATE state SET name = 'ARRIVED'",
        "UPDATE state SET machine = 'other'",
        "UPDATE state SET name = 'PLANNED'",
        "INSERT INTO state (job_id, subject, machine, name, at) SELECT id, 'x', 'parcel', 'SENT', 0 FROM task",
        "INSERT INTO state (job_id, subject, machine, name, at) SELECT id, 'x', 'none', 'LEASED', 0 FROM task",
    ]
    if url.startswith("sqlite"):
        attempts.append("REPLACE INTO state SELECT id, '', 'parcel', 'LEASED', 0 FROM task")
    for statement in attempts:
        with connected(url) as connection, pytest.raises(Exception, match="state_transition_denied"):
            connection.execute(statement)
    assert job.states == {"": "LEASED"}


def test_no_state_is_removed_before_the_job_has_ended_so_that_it_could_start_again(app, url):
    @app.job(machine=parcel(app))
    def send(task):
        task.advance("LEASED")
        with connected(url) as connection, pytest.raises(Exception, match="state_transition_denied"):
            connection.execute("DELETE FROM state")
        return "kept"

    job = send.submit()
    app.drain(timeout=60)
    assert (job.output, job.states) == ("kept", {"": "LEASED"})


def test_two_processes_may_add_arrows_but_none_changes_where_a_machine_begins(app, url):
    def kind(one, arrows, **options):
        return one.job(lambda: None, name="send", machine=one.machine("parcel", arrows, **options))

    kind(app, ARROWS, initial="PLANNED", failed="LOST").submit(key="1")
    for arrows, options in [(ARROWS | {"LOST": "FOUND"}, {"initial": "PLANNED", "failed": "LOST"})]:
        other = Leasehold(url)
        kind(other, arrows, **options).submit(key="2")
        other.close()
    assert len(rows(url, "SELECT * FROM arrow")) == 8
    for options in ({"initial": "LEASED", "failed": "LOST"}, {"initial": "PLANNED"}):
        other = Leasehold(url)
        with pytest.raises(MachineInvalid, match="another name"):
            kind(other, {"PLANNED": "LEASED", "LEASED": "PLANNED"}, **options).submit()
        other.close()


def test_a_failed_job_that_is_revived_goes_on_from_where_it_was(app):
    ready = threading.Event()

    @app.job(machine=parcel(app), retry=Retry(attempts=1))
    def send(task):
        task.advance("LEASED")
        task.advance("PACKED")
        if not ready.is_set():
            raise Permanent("no stamps")
        task.advance("SENT")

    job = send.submit()
    app.drain(timeout=60)
    assert (job.status, job.state) == ("ERROR", "LOST")
    ready.set()
    [letter] = app.deadletters.list()
    app.deadletters.evidence(letter.id, "bought stamps")
    app.deadletters.revive(letter.id)
    assert job.state == "PACKED"
    app.drain(timeout=60)
    assert (job.status, job.state) == ("DONE", "SENT")
    assert app.journal.verify(job.id).equal


def test_jobs_are_counted_by_state(app):
    @app.job(machine=parcel(app), retry=Retry(attempts=1))
    def send(task, far: int):
        for state in ("LEASED", "PACKED", "SENT")[:far]:
            task.advance(state)
        if far == 3:
            raise Permanent("lost")

    app.submit_many(send, [{"far": far} for far in (0, 1, 1, 2, 3)])
    assert app.machine.counts("send") == {"PLANNED": 5}
    app.drain(timeout=60)
    assert app.machine.counts("send") == {"LEASED": 2, "LOST": 1, "PACKED": 1, "PLANNED": 1}


def test_jobs_are_listed_with_their_states_by_how_their_keys_start(app):
    @app.job(machine=parcel(app))
    def send(task, far: int):
        for state in ("LEASED", "PACKED")[:far]:
            task.advance(state)

    keys = [f"a/{number:04}" for number in range(1_001)] + ["A/1", "a%1", "a_/1", "b/1", "é/1"]
    jobs = app.submit_many(send, [{"far": 0}] * len(keys), keys=keys)
    two = send.submit({"far": 2}, key="c/1")
    app.drain(timeout=120, concurrency=200)
    assert [(one.job_id, one.state) for one in app.machine.jobs("send", prefix="c/")] == [(two.id, "PACKED")]
    found = list(app.machine.jobs("send", prefix="a/"))
    assert sorted(one.job_id for one in found) == [job.id for job in jobs[:1_001]]  # more than one page
    assert [one.key for one in app.machine.jobs("send", prefix="é")] == ["é/1"]
    assert len({one.key for one in app.machine.jobs("send")}) == len(keys) + 1
    assert not list(app.machine.jobs("other"))


def test_without_a_machine_nothing_advances(app):
    @app.job(retry=Retry(attempts=1))
    def plain(task):
        task.advance("LEASED")

    job = plain.submit()
    app.drain(timeout=60)
    assert (job.status, job.state, job.states) == ("ERROR", None, {})
    assert "app.machine" in job.failure["message"]


def test_inside_an_act_nothing_advances(app):
    @app.job(machine=parcel(app))
    def send(task):
        with pytest.raises(Misuse, match="cannot advance"):
            task.effect("SEND", lambda: task.advance("LEASED"))
        with pytest.raises(Misuse, match="cannot advance"):
            task.transaction("KEEP", lambda _: task.advance("LEASED"))

    job = send.submit()
    app.drain(timeout=60)
    assert job.status == "DONE"


def test_a_pruned_job_takes_its_states_along(app, url):
    @app.job(machine=parcel(app))
    def send(task):
        task.advance("LEASED")

    job = send.submit()
    app.drain(timeout=60)
    assert rows(url, "SELECT count(*) FROM state") == [(1,)]
    app.store.retention.prune([job.id], "ada")
    assert rows(url, "SELECT count(*) FROM state") == [(0,)]
    check_places(url)


def test_only_what_app_machine_made_is_a_machine(app):
    with pytest.raises(Misuse, match="what app"):
        app.job(lambda: None, name="send", machine={"A": "B"})
    with pytest.raises(Misuse, match="what app"):
        app.pipeline("film", machine="parcel")


def tampered(app, url, statement):
    """Run a job through its states, change something behind the engine's back, and have it verified."""

    @app.job(machine=parcel(app))
    def send(task):
        task.advance("LEASED")
        task.advance("PACKED")
        task.advance("LEASED", of="lid")

    job = send.submit()
    app.drain(timeout=60)
    assert app.journal.verify(job.id).equal
    with connected(url) as connection:
        connection.execute(statement)
    return app.journal.verify(job.id)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DELETE FROM state WHERE subject = ''", "its state should be PACKED and is missing"),
        ("UPDATE state SET name = 'SENT' WHERE subject = ''", "its state should be PACKED and is SENT"),
        ("UPDATE state SET name = 'LOST' WHERE subject = 'lid'", "the state of 'lid' should be LEASED and is LOST"),
        ("DELETE FROM event WHERE detail LIKE '%PLANNED%'", "event"),
        ('UPDATE event SET detail = \'{"from":"PLANNED","to":"LOST"}\' WHERE detail LIKE \'%PACKED%\'', ""),
    ],
)
def test_s8_a_state_or_a_move_that_was_changed_behind_the_engines_back_is_found(app, url, statement, expected):
    found = tampered(app, url, statement)
    assert not found.equal
    assert expected in found.difference
