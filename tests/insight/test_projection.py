"""The journal in a file: it survives a crash, continues where it was, and nobody writes to it twice."""

import contextlib
import json
import threading

import psycopg
import pytest

from leasehold.cli.jobs.events import project
from leasehold.errors import ProjectionBusy, ProjectionDamaged, ProjectionForeign
from leasehold.insight.journal import Follower, Projection
from tests.store.work import claim, finish, register, submit


def numbers(path) -> list[int]:
    return [json.loads(line)["id"] for line in path.read_bytes().splitlines()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.ndjson"


def work_through(store, *keys: str) -> None:
    submit(store, *keys)
    finish(store, claim(store, register(store)))


def test_the_file_continues_after_its_last_whole_line(store, path):
    work_through(store, "a", "b")
    project(store, None, path, follow=False)
    first = path.read_bytes()
    assert len(numbers(path)) == 6
    work_through(store, "c")
    project(store, None, path, follow=False)
    assert path.read_bytes().startswith(first)
    assert len(numbers(path)) == 9
    assert numbers(path) == sorted(set(numbers(path)))


@pytest.mark.parametrize("kept", [1, 20, -1])
def test_a_torn_last_line_is_cut_off_before_anything_is_appended(store, path, kept):
    work_through(store, "a", "b")
    project(store, None, path, follow=False)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:kept])
    project(store, None, path, follow=False)
    assert path.read_bytes() == whole


def test_what_a_power_cut_left_at_the_end_is_cut_off(store, path):
    work_through(store, "a")
    project(store, None, path, follow=False)
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 4096)
    project(store, None, path, follow=False)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [lines[0], b"\xff\xfe\n", *lines[1:]],
        lambda lines: [lines[0], lines[1][:9] + b"\n", *lines[2:]],
        lambda lines: [lines[0], lines[0], *lines[1:]],
        lambda lines: [lines[0], lines[2], lines[1]],
        lambda lines: [lines[0], b"[]\n", lines[1]],
        lambda lines: [lines[0], b"\n", lines[1]],
    ],
)
def test_damage_inside_is_refused_by_its_line_and_the_file_is_left_alone(store, path, damage):
    work_through(store, "a")
    project(store, None, path, follow=False)
    damaged = b"".join(damage(path.read_bytes().splitlines(keepends=True)))
    path.write_bytes(damaged)
    with pytest.raises(ProjectionDamaged, match=r"journal.ndjson:(2|3): "):
        project(store, None, path, follow=False)
    assert path.read_bytes() == damaged


def test_two_processes_do_not_write_to_one_file(store, path):
    with Projection(path), pytest.raises(ProjectionBusy):
        Projection(path)
    with Projection(path) as file:
        assert file.last == 0


def test_the_file_of_another_database_is_refused(store, path):
    work_through(store, "a")
    project(store, None, path, follow=False)
    path.write_bytes(path.read_bytes().replace(b'"kind":"a"', b'"kind":"b"'))
    with pytest.raises(ProjectionForeign, match=r"journal.ndjson:1: it is not what the journal has as id 1"):
        project(store, None, path, follow=False)


def test_one_job_alone_can_be_followed(store, path):
    work_through(store, "a", "b")
    (job,) = submit(store, "c")
    project(store, job, path, follow=False)
    (line,) = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert (line["job_id"], line["name"]) == (job, "submitted")
    assert None not in line.values()


@pytest.fixture
def postgres_store(postgres, postgres_template):
    from leasehold.store import open_store

    url = postgres.create_database(template=postgres_template)
    with contextlib.closing(open_store(url)) as store:
        yield store
    postgres.drop_database(url)


def test_a_line_that_is_committed_late_is_waited_for_not_lost(postgres_store):
    """On PostgreSQL a transaction that began before may end after others."""
    store = postgres_store
    follower = Follower(store, None, 0)
    submit(store, "first")
    assert [line.task_id for line in follower.read()] == [1]
    with psycopg.connect(store.url) as late, late.transaction():
        with store.transaction(late):
            submit(store, "late")
        submitted = threading.Thread(target=submit, args=(store, "early"))
        submitted.start()
        submitted.join()
        assert [follower.read() for _ in range(3)] == [[], [], []]
    lines = follower.read()
    assert len(lines) == 2
    assert [line.id for line in lines] == sorted(line.id for line in lines)
    assert follower.read() == []


def test_a_number_that_was_rolled_back_holds_nobody_up(postgres_store):
    store = postgres_store
    with psycopg.connect(store.url) as connection, contextlib.suppress(RuntimeError), store.transaction(connection):
        submit(store, "never")
        raise RuntimeError
    submit(store, "early")
    assert len(Follower(store, None, 0).read()) == 1


def test_a_file_that_is_no_projection_is_refused_and_left_alone(store, path):
    path.write_bytes(b"my precious notes, without a line break")
    with pytest.raises(ProjectionDamaged):
        Projection(path)
    assert path.read_bytes() == b"my precious notes, without a line break"


def test_a_file_that_is_ahead_of_the_database_is_refused(store, path):
    path.write_bytes(b'{"at":1,"id":999999,"job_id":1,"kind":"a","name":"submitted","task_id":1}\n')
    with pytest.raises(ProjectionForeign, match="has not reached"):
        project(store, None, path, follow=False)
