"""Reports on events: sound streams are valid, add up to the same in files and rows, and replay to the stored tokens."""

import json

import pytest

from leasehold.contracts import contract
from leasehold.pipelines.agents.child_dispatch import Failed, cancel_child, finish_child, start_child
from leasehold.pipelines.agents.child_recovery import recover
from leasehold.pipelines.agents.errors import EventFolderInvalid, SessionUnknown
from leasehold.pipelines.agents.event_files import EventFiles
from leasehold.pipelines.agents.event_reports.report import read_report
from leasehold.pipelines.agents.event_reports.streams import lines_of_folder, lines_of_session
from leasehold.pipelines.agents.tokens import export_tokens
from tests.pipelines.agents.dispatch.coordinators import SESSION, deterministic, lease, mixed_session, opened, spawn


@pytest.fixture
def ended(records, state):
    """A session whose children have all ended: passed, failed, cancelled, recovered."""
    mixed_session(state)
    recover(deterministic(records, "second"), lambda name: name == "first")
    return records


@pytest.fixture
def folder(ended, tmp_path):
    EventFiles(ended, tmp_path / "events").project_session(SESSION)
    return tmp_path / "events"


def test_s8_the_tokens_of_an_ended_session_are_replayed_from_its_events_alone_byte_by_byte(ended, folder):
    stored = export_tokens(ended, SESSION)
    assert read_report(lines_of_folder(folder)).replay() == stored
    assert read_report(lines_of_session(ended, SESSION)).replay() == stored


def test_events_have_the_same_summary_in_files_and_in_the_database(ended, folder):
    found = read_report(lines_of_folder(folder)).summary()
    assert found == read_report(lines_of_session(ended, SESSION)).summary()
    assert contract("urm-events-summary", 1).problems(found) == []
    assert (found["valid"], found["streams"], found["events"]) == (True, 7, 26)
    (session,) = found["sessions"]
    assert session["children"] == 6
    assert session["dispatched"] == 3
    assert session["cancelled"] == 2
    assert session["ends"] == {"failed": 5, "passed": 1}
    assert session["codes"] == {
        "URM_CHILD_CANCELLED": 1,
        "URM_CHILD_TERMINATED_ON_RESTART": 1,
        "URM_SCHEDULER_LEASE_ORPHANED": 3,
    }


def test_a_session_in_every_phase_is_valid_and_a_lease_without_an_event_is_replayed_as_queued(records, state):
    mixed_session(state)
    report = read_report(lines_of_session(records, SESSION))
    assert report.validation()["issues"] == []
    phases = {row["child_id"]: row["phase"] for row in map(json.loads, report.replay().splitlines())}
    assert phases == {"a": "terminal", "b": "started", "c": "leased", "d": "queued", "e": "queued", "f": "terminal"}


def test_a_folder_without_event_files_and_an_unknown_session_are_refused(records, state, tmp_path):
    (tmp_path / "child").mkdir()
    with pytest.raises(EventFolderInvalid):
        read_report(lines_of_folder(tmp_path))
    (tmp_path / "child" / "a.ndjson").symlink_to("/dev/zero")
    with pytest.raises(EventFolderInvalid):
        read_report(lines_of_folder(tmp_path))
    with pytest.raises(SessionUnknown):
        read_report(lines_of_session(records, "nowhere"))


def test_children_that_ended_in_every_way_are_valid(records, state):
    opened(state)
    spawn(state, "a", "b")
    running = start_child(state, lease(state))
    cancel_child(state, "a", "x")
    finish_child(state, running, Failed("cancelled", "URM_CHILD_CANCELLED", {"output_sha256": "0" * 64}))
    finish_child(state, lease(state), Failed("lost", "URM_CHILD_FAILED"))
    report = read_report(lines_of_session(records, SESSION))
    assert report.issues == []
    assert report.replay() == export_tokens(records, SESSION)
