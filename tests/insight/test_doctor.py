"""What the doctor reports on each symptom, and on a database whose workers died."""

import pytest

from leasehold.insight import disk, doctor
from leasehold.insight.doctor import Grade, WorkerCounts, examine
from leasehold.model.lanes import Lane
from leasehold.model.owner import Owner
from leasehold.model.task import Submission, Terms
from leasehold.runtime.process_identity import is_gone, this_process
from leasehold.testing import Clock


@pytest.mark.parametrize(
    ("finding", "grade", "hint"),
    [
        (doctor.check_schema(9, 9), Grade.OK, ""),
        (doctor.check_schema(8, 9), Grade.WRONG, "leasehold migrate"),
        (doctor.check_schema(10, 9), Grade.WRONG, "upgrade this one"),
        (doctor.check_schema(7, 9), Grade.WRONG, "create a new database"),
        (doctor.check_clock(-2.0), Grade.OK, ""),
        (doctor.check_clock(2.1), Grade.WARN, "synchronise"),
        (doctor.check_workers(WorkerCounts(0, 0, 0), 0), Grade.OK, ""),
        (
            doctor.check_workers(WorkerCounts(1, 0, 0), 5),
            Grade.WARN,
            "5 tasks wait for one; start `leasehold worker module:app`.",
        ),
        (doctor.check_workers(WorkerCounts(2, 0, 2), 5), Grade.WARN, "unless those registered elsewhere still run"),
        (doctor.check_workers(WorkerCounts(2, 0, 2), 0), Grade.OK, ""),
        (doctor.check_workers(WorkerCounts(1, 1, 0), 5), Grade.OK, ""),
        (
            doctor.check_workers(WorkerCounts(1, 0, 0, gone=1), 0, running=3),
            Grade.WARN,
            "The last worker was killed or crashed. 3 tasks wait for one; start `leasehold worker module:app`.",
        ),
        (doctor.check_workers(WorkerCounts(1, 0, 0, gone=1), 0), Grade.WARN, "was killed or crashed. Start another."),
        (doctor.check_workers(WorkerCounts(2, 1, 0, gone=1), 0, running=3), Grade.OK, ""),
        (doctor.check_workers(WorkerCounts(2, 0, 1, gone=1), 0, running=3), Grade.OK, ""),
        (disk.check_room(10_000_000), Grade.OK, ""),
        (disk.check_room(9_999_999), Grade.WRONG, "Free some space"),
        (disk.check_room(10**12, has_inodes=False), Grade.WRONG, "Free some space"),
        (doctor.check_expired(None, 0), Grade.OK, ""),
        (doctor.check_expired(5.0, 0), Grade.OK, ""),
        (doctor.check_expired(5.1, 0), Grade.WRONG, "Nobody takes it back"),
        (doctor.check_expired(5.1, 1), Grade.WRONG, "read their logs"),
    ],
)
def test_each_sign_is_graded_and_what_is_wrong_comes_with_advice(finding, grade, hint):
    assert finding.grade is grade
    assert hint in finding.advice
    assert bool(finding.advice) == (grade is not Grade.OK)


def found(url, *, gone=is_gone) -> dict[str, doctor.Finding]:
    return {finding.name: finding for finding in examine(url, this_process(), gone)}


def test_a_lease_that_nobody_takes_back_is_wrong_and_a_dead_worker_is_not_counted(store):
    clock = Clock(store)
    me = this_process()
    worker = store.workers.register(Owner(me.host, me.boot, me.namespace, me.pid, me.birth))
    store.tasks.submit([Submission("act", "a", "{}", Terms(lease_ms=1000))])
    store.leases.claim(worker, [Lane("default", 0, 0, 0)], '["act"]', 1)
    assert found(store.url)["expired leases"].grade is Grade.OK
    clock.advance(10)
    alive = found(store.url)
    assert alive["workers"].text == "1 registered, 1 known alive on this host"
    assert alive["expired leases"].text == "the oldest expired 9.0 s ago"
    dead = found(store.url, gone=lambda _pid, _birth: True)
    assert dead["workers"].text == "1 registered, 0 known alive on this host, 1 gone"
    assert "Nobody takes it back" in dead["expired leases"].advice


def test_a_worker_of_an_earlier_boot_is_not_taken_for_one_at_work(store):
    me = this_process()
    store.workers.register(Owner(me.host, "an earlier boot", me.namespace, me.pid, me.birth))
    store.tasks.submit([Submission("act", "a", "{}", Terms(lease_ms=1000))])
    workers = found(store.url)["workers"]
    assert workers.grade is Grade.WARN
    assert workers.text == "1 registered, 0 known alive on this host, 1 registered elsewhere or before"


def test_on_a_host_that_does_not_know_its_boot_nobody_is_known_to_be_alive(store):
    stranger = Owner("here", "", "", 1, 0)
    store.workers.register(Owner("there", "", "", 1, 0))
    findings = {finding.name: finding for finding in examine(store.url, stranger, lambda _pid, _birth: False)}
    assert findings["workers"].text == "1 registered, 0 known alive on this host, 1 registered elsewhere or before"


def test_the_clocks_are_compared_in_the_middle_of_the_question(store):
    clock = Clock(store)
    ticks = iter([clock.now - 1_000_000, clock.now + 1_000_000])
    findings = examine(store.url, this_process(), is_gone, wall=lambda: next(ticks))
    assert "the database is 0.000 s ahead of this host" in [finding.text for finding in findings]


def test_the_doctor_names_the_server_and_for_sqlite_the_version_it_needs(store, dialect):
    text = found(store.url)["server"].text
    assert text.startswith({"sqlite": "SQLite 3.", "postgres": "PostgreSQL "}[dialect])
    assert ("at least 3.51.3" in text) == (dialect == "sqlite")
