"""Damage to event files: whatever was changed, torn, or lost is found, and named with its file and line."""

import json
import shutil
from contextlib import closing

import pytest

from leasehold.contracts import contract
from leasehold.pipelines.agents.child_recovery import recover
from leasehold.pipelines.agents.errors import ReplayOrderInvalid
from leasehold.pipelines.agents.event_files import EventFiles
from leasehold.pipelines.agents.event_reports.report import read_report
from leasehold.pipelines.agents.event_reports.streams import lines_of_folder
from leasehold.pipelines.agents.records.records import open_records
from tests.pipelines.agents.dispatch.coordinators import SESSION, deterministic, mixed_session

TORN = "URM_EVENT_STREAM_TORN"
DAMAGED = "URM_EVENT_STREAM_DAMAGED"
INCOMPLETE = "URM_EVENT_STREAM_INCOMPLETE"
INVALID = "URM_EVENT_INVALID"
ORDER = "URM_SCHEDULER_REPLAY_ORDER_INVALID"
PHASE = "URM_SCHEDULER_PHASE_EVENT_ATOMICITY_VIOLATION"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The event files of a session whose children have all ended, as bytes."""
    home = tmp_path_factory.mktemp("ended")
    with closing(open_records(f"sqlite:///{home}/agents.db")) as records:
        records.migrate()
        mixed_session(deterministic(records))
        recover(deterministic(records, "second"), lambda name: name == "first")
        EventFiles(records, home / "events").project_session(SESSION)
    return {path.relative_to(home / "events"): path.read_bytes() for path in (home / "events").rglob("*.ndjson")}


@pytest.fixture
def folder(files, tmp_path):
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(text)
    return tmp_path


def problems(folder):
    report = read_report(lines_of_folder(folder))
    assert contract("urm-events-validate", 1).problems(report.validation()) == []
    return [(issue["code"], issue["file"], issue["line"]) for issue in report.validation()["issues"]]


def edit_line(folder, file, line, change):
    lines = (folder / file).read_bytes().splitlines(keepends=True)
    lines[line - 1] = change(lines[line - 1])
    (folder / file).write_bytes(b"".join(lines))


def test_files_that_were_left_alone_have_no_problem(folder):
    assert problems(folder) == []


def test_a_torn_line_is_named_with_its_file_at_every_byte(folder):
    shutil.rmtree(folder / "copilot")
    for other in "bcdef":
        (folder / f"child/{other}.ndjson").unlink()
    path = folder / "child/a.ndjson"
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    for cut in range(start + 1, len(whole)):
        path.write_bytes(whole[:cut])
        torn = read_report(lines_of_folder(folder)).issues[0]
        assert (torn.code, str(torn.place)) == (TORN, "child/a.ndjson:2")


@pytest.mark.parametrize(
    ("file", "line", "change", "code", "found_at"),
    [
        ("child/a.ndjson", 1, lambda text: text.replace(b",", b", ", 1), DAMAGED, 1),
        ("child/a.ndjson", 2, lambda _: b"\xff\n", DAMAGED, 2),
        ("child/a.ndjson", 2, lambda _: b"\n", DAMAGED, 2),
        ("child/a.ndjson", 2, lambda _: b'{"a":1,"a":1}\n', DAMAGED, 2),
        ("child/a.ndjson", 1, lambda text: text.replace(b"urm-events@1", b"urm-events@2"), INVALID, 1),
        ("child/a.ndjson", 1, lambda text: text.replace(b'"lease_id"', b'"lease"'), INVALID, 1),
        ("child/b.ndjson", 2, lambda text: text.replace(b'"reason"', b'"raison"'), INVALID, 2),
        ("copilot/demo.ndjson", 3, lambda text: text.replace(b'"queue_seq":3,', b""), INVALID, 3),
        ("child/a.ndjson", 1, lambda text: text * 2, ORDER, 2),
        ("child/a.ndjson", 1, lambda _: b"", ORDER, 1),
        ("child/a.ndjson", 2, lambda text: text.replace(b'"seq":2', b'"seq":3'), ORDER, 2),
        ("child/a.ndjson", 1, lambda text: text.replace(b"child:a", b"child:b"), ORDER, 1),
        ("copilot/demo.ndjson", 3, lambda text: text.replace(b'"queue_seq":3', b'"queue_seq":2'), ORDER, 3),
        ("child/a.ndjson", 1, lambda text: text.replace(b'"version":"1"', b'"version":"2"'), ORDER, 1),
    ],
)  # fmt: skip
def test_a_line_that_was_changed_is_named_with_its_file(folder, file, line, change, code, found_at):
    edit_line(folder, file, line, change)
    assert (code, file, found_at) in problems(folder)
    report = read_report(lines_of_folder(folder))
    with pytest.raises(ReplayOrderInvalid) as refused:
        report.replay()
    assert refused.value.plain()["context"]["issue_count"] == len(report.issues)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ('"phase_at_event":"started"', '"phase_at_event":"leased"'),
        ('"parent_seq":2', '"parent_seq":1'),
        ('"dispatch_seq":3', '"dispatch_seq":4'),
        ('"cancel_request_id":"cancel-c","child_id":"c","code"', '"child_id":"c","code"'),
        ('"cancel_request_id":"cancel-f","child_id":"f","code"', '"cancel_request_id":"x","child_id":"f","code"'),
        ('"event":"WORKER_PASS"', '"event":"WORKER_START"'),
    ],
)
def test_an_event_that_does_not_fit_its_childs_life_is_found_even_if_its_mirror_was_changed_too(folder, good, bad):
    for path in folder.rglob("*.ndjson"):
        path.write_text(path.read_text().replace(good, bad, 1 if "dispatch" in good else -1))
    assert PHASE in {code for code, *_ in problems(folder)}


def test_an_order_of_dispatch_that_is_not_that_of_the_queue_and_a_shared_lease_are_found(folder):
    for path in folder.rglob("*.ndjson"):
        text = path.read_text().replace('"dispatch_seq":1', '"dispatch_seq":8')
        path.write_text(text)
    assert {code for code, *_ in problems(folder)} == {ORDER}
    a, b = (json.loads((folder / f"child/{name}.ndjson").read_text().splitlines()[0]) for name in "ab")
    for path in folder.rglob("*.ndjson"):
        path.write_text(path.read_text().replace(b["detail"]["lease_id"], a["detail"]["lease_id"]))
    assert any("lease" in issue.message for issue in read_report(lines_of_folder(folder)).issues)


def test_a_stream_that_is_missing_or_behind_is_incomplete(folder):
    path = folder / "child/b.ndjson"
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    ((code, file, line),) = problems(folder)
    missing = json.loads((folder / file).read_bytes().splitlines()[line - 1])
    assert (code, file, missing["detail"]["child_id"]) == (INCOMPLETE, "copilot/demo.ndjson", "b")
    path.unlink()
    assert [code for code, *_ in problems(folder)] == [INCOMPLETE]
    (folder / "copilot/demo.ndjson").unlink()
    assert {code for code, *_ in problems(folder)} == {ORDER}


def test_a_line_that_never_ends_is_not_read_whole(folder):
    with (folder / "child/a.ndjson").open("ab") as file:
        file.write(b"x" * 3_000_000)
    assert problems(folder)[0] == (TORN, "child/a.ndjson", 3)
