"""A file is continued only if it is what the journal has, line by line: whatever was edited is named by its line."""

import json

import pytest

from leasehold.cli.jobs.events import project
from leasehold.errors import ProjectionDamaged, ProjectionForeign
from leasehold.model.limits import PAGE_MAX
from tests.insight.edited_records import edit
from tests.store.work import claim, finish, register, submit


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.ndjson"


@pytest.fixture
def lines(store, path) -> list[bytes]:
    """The file of two jobs that were done: submitted, submitted, claimed, claimed, done, done."""
    submit(store, "a", "b")
    finish(store, claim(store, register(store)))
    project(store, None, path, follow=False)
    return path.read_bytes().splitlines(keepends=True)


def edited(raw: bytes, **fields) -> bytes:
    found = {**json.loads(raw), **fields}
    return json.dumps(found, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def refused(store, path, damaged: list[bytes], kind=ProjectionDamaged, job=None) -> str:
    """Continue a file with these lines; return the error; the file is not changed."""
    path.write_bytes(b"".join(damaged))
    with pytest.raises(kind) as found:
        project(store, job, path, follow=False)
    assert path.read_bytes() == b"".join(damaged)
    return found.value.detail


@pytest.mark.parametrize("number", range(6))
def test_a_line_that_was_edited_is_named(store, path, lines, number):
    lines[number] = edited(lines[number], at=7)
    error = refused(store, path, lines)
    assert error == f"{path}:{number + 1}: it is not what the journal has as id {number + 1}."


@pytest.mark.parametrize("number", range(5))
def test_a_line_that_was_removed_is_missed(store, path, lines, number):
    error = refused(store, path, lines[:number] + lines[number + 1 :])
    assert error == f"{path}:{number + 1}: id {number + 1} of the journal is missing before it."


def test_a_last_line_that_was_removed_is_written_again(store, path, lines):
    path.write_bytes(b"".join(lines[:-1]))
    project(store, None, path, follow=False)
    assert path.read_bytes() == b"".join(lines)


@pytest.mark.parametrize("job", [1, 99])
def test_a_line_that_the_journal_does_not_have_is_found(store, path, lines, job):
    edit(store, "DELETE FROM event WHERE id = 3")
    lines[2] = edited(lines[2], job_id=job)
    assert refused(store, path, lines) == f"{path}:3: there is no id 3 in the journal of job {job}."


def test_lines_of_jobs_that_were_pruned_are_excepted(store, path, lines):
    store.retention.prune([1], "a test")
    submit(store, "c")
    project(store, None, path, follow=False)
    assert path.read_bytes().startswith(b"".join(lines))
    whole = path.read_bytes().splitlines(keepends=True)
    whole[1] = edited(whole[1], at=7)
    assert f"{path}:2: it is not what the journal has" in refused(store, path, whole)


def test_a_line_before_one_that_was_pruned_is_missed(store, path, lines):
    store.retention.prune([1], "a test")
    assert [json.loads(line)["job_id"] for line in lines] == [1, 2, 1, 2, 1, 2]
    assert f"{path}:2: id 2 of the journal is missing" in refused(store, path, [lines[0], *lines[2:]])


def test_the_file_of_one_job_is_not_continued_with_another_or_with_all(store, path, lines):
    path.unlink()
    project(store, 2, path, follow=False)
    own = path.read_bytes().splitlines(keepends=True)
    assert "it is of job 2, not of job 1" in refused(store, path, own, ProjectionForeign, job=1)
    assert "holds the lines of job 2 alone" in refused(store, path, own, ProjectionForeign)
    project(store, 2, path, follow=False)
    assert path.read_bytes() == b"".join(own)


def test_the_file_of_all_jobs_is_not_continued_with_one(store, path, lines):
    assert f"{path}:2: it is of job 2, not of job 1" in refused(store, path, lines, ProjectionForeign, job=1)


def test_a_line_removed_from_the_file_of_one_job_is_missed(store, path, lines):
    path.unlink()
    project(store, 2, path, follow=False)
    own = path.read_bytes().splitlines(keepends=True)
    assert f"{path}:2: id 4 of the journal is missing" in refused(store, path, [own[0], own[2]], job=2)


def test_a_torn_last_line_of_a_file_that_is_refused_is_left_alone(store, path, lines):
    error = refused(store, path, [edited(lines[0], at=7), *lines[1:-1], lines[-1][:20]])
    assert f"{path}:1: " in error


def test_a_file_of_several_pages_is_compared_to_its_end(store, path):
    submit(store, *(f"key {number}" for number in range(PAGE_MAX + 200)))
    project(store, None, path, follow=False)
    lines = path.read_bytes().splitlines(keepends=True)
    project(store, None, path, follow=False)
    assert path.read_bytes() == b"".join(lines)
    changed = [*lines[: PAGE_MAX + 99], edited(lines[PAGE_MAX + 99], at=7), *lines[PAGE_MAX + 100 :]]
    assert f"{path}:{PAGE_MAX + 100}: it is not what" in refused(store, path, changed)
    short = [*lines[:3], *lines[-3:]]
    assert f"{path}:4: id 4 of the journal is missing before it." in refused(store, path, short)
