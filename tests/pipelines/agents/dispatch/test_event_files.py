"""Event files: what is stored, line by line; a torn end is repaired at every byte, damage is refused."""

import pytest

from leasehold.pipelines.agents.child_recovery import recover
from leasehold.pipelines.agents.errors import EventFileDamaged, SessionInvalid
from leasehold.pipelines.agents.event_files import EventFiles, lines_of
from leasehold.pipelines.agents.events import EventName, UrmEvent, append
from tests.pipelines.agents.dispatch.coordinators import (
    SESSION,
    TS,
    deterministic,
    mixed_session,
    opened,
    run_all,
    spawn,
)

PARENT = "copilot:demo"


@pytest.fixture
def event_files(records, tmp_path):
    return EventFiles(records, tmp_path / "events")


def test_each_stream_has_a_file_whose_lines_are_the_stored_events(records, state, event_files, tmp_path):
    mixed_session(state)
    assert event_files.project_session(SESSION) == len(lines_of(records, SESSION))
    names = {str(path.relative_to(tmp_path / "events")) for path in (tmp_path / "events").rglob("*.ndjson")}
    assert names == {"copilot/demo.ndjson", *(f"child/{child}.ndjson" for child in "abcf")}
    paths = [tmp_path / "events" / name for name in sorted(names)]
    assert "".join(path.read_text() for path in paths).splitlines() == lines_of(records, SESSION)


def test_a_file_is_extended_by_what_is_new_and_by_nothing_else(records, state, event_files):
    opened(state)
    spawn(state, "a")
    assert event_files.project(PARENT) == 1
    before = event_files.path(PARENT).read_bytes()
    assert event_files.project(PARENT) == 0
    run_all(state)
    assert event_files.project(PARENT) == 2
    assert event_files.path(PARENT).read_bytes().startswith(before)


def test_a_file_of_several_pages_is_written_and_checked_whole(records, state, event_files):
    opened(state)
    events = [UrmEvent(PARENT, EventName.TOOL_CALL_START, TS, "a", {}, {"number": number}) for number in range(2_101)]
    records.write(lambda writing: append(writing, state, SESSION, events))
    assert event_files.project(PARENT) == 2_101
    assert EventFiles(records, event_files.path(PARENT).parents[1]).project(PARENT) == 0


def test_events_were_stored_but_not_all_of_their_lines_written_and_the_rest_follows_at_every_byte(
    records, state, event_files
):
    """A file that a kill cut anywhere, torn last line included, ends as if nothing had happened."""
    opened(state)
    spawn(state, "a")
    run_all(state)
    event_files.project(PARENT)
    path = event_files.path(PARENT)
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        EventFiles(records, path.parents[1]).project(PARENT)
        assert path.read_bytes() == whole


def test_a_torn_line_is_cut_before_the_failures_of_a_restart_are_appended(records, state, event_files):
    mixed_session(state)
    event_files.project_session(SESSION)
    path = event_files.path("child:b")
    path.write_bytes(path.read_bytes() + b'{"context":{"role":"wor\xff\x00')
    recover(deterministic(records, "second"), lambda _: True)
    event_files.project_session(SESSION)
    assert [line for line in lines_of(records, SESSION) if "child:b" in line][-2:] == path.read_text().splitlines()


@pytest.mark.parametrize("line", [0, 1, 2])
def test_damage_inside_is_refused_with_its_line_and_changes_nothing(records, state, event_files, line):
    opened(state)
    spawn(state, "a", "b", "c")
    event_files.project(PARENT)
    path = event_files.path(PARENT)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace(b"spawn_agent", b"spawn_other")
    path.write_bytes(b"".join(lines))
    with pytest.raises(EventFileDamaged) as refused:
        EventFiles(records, path.parents[1]).project(PARENT)
    assert refused.value.plain()["context"] == {"stream_id": PARENT, "line": line + 1}
    assert refused.value.code == "URM_EVENT_STREAM_DAMAGED"
    assert path.read_bytes() == b"".join(lines)


@pytest.mark.parametrize("more", [b"{}\n", b"\n", b"\x00\x00\n"])
def test_lines_that_are_not_stored_are_damage(records, state, event_files, more):
    opened(state)
    spawn(state, "a")
    event_files.project(PARENT)
    path = event_files.path(PARENT)
    path.write_bytes(path.read_bytes() + more)
    with pytest.raises(EventFileDamaged):
        event_files.project(PARENT)


def test_a_damaged_or_missing_file_is_rebuilt_from_the_rows(records, state, event_files):
    opened(state)
    spawn(state, "a", "b")
    event_files.project(PARENT)
    path = event_files.path(PARENT)
    whole = path.read_bytes()
    path.write_bytes(b"damaged\n" * 10)
    event_files.rebuild(PARENT)
    assert path.read_bytes() == whole
    path.unlink()
    event_files.rebuild(PARENT)
    assert path.read_bytes() == whole
    spawn(state, "c")
    assert event_files.project(PARENT) == 1
    assert list(path.parent.iterdir()) == [path]


def test_two_writers_of_one_file_leave_each_line_once(records, state, event_files):
    opened(state)
    other = EventFiles(records, event_files.path(PARENT).parents[1])
    for number in range(6):
        spawn(state, f"c{number}")
        (event_files if number % 2 else other).project(PARENT)
    assert event_files.path(PARENT).read_text().splitlines() == lines_of(records, SESSION)


@pytest.mark.parametrize("stream", ["other:a", "child:../../a", "child:", "copilot"])
def test_a_stream_that_would_lead_out_of_the_folder_is_refused(event_files, stream):
    with pytest.raises((EventFileDamaged, SessionInvalid)):
        event_files.path(stream)
