"""`verify FILE`: whatever is edited, removed, moved or torn in a record is named by its line."""

import json

import pytest
from click.testing import CliRunner

from leasehold.cli.jobs.record import verify
from leasehold.cli.options import ExitCode, exit_code_of
from leasehold.errors import RecordDamaged
from leasehold.insight.verify.verify import verify_file
from leasehold.model.journal.record import RecordCodec
from tests.replay.recorder import JOBS


def changed(records, tmp_path, change, kind="film"):
    """Verify a record whose lines were changed."""
    lines = records[kind].read_bytes().splitlines(keepends=True)
    path = tmp_path / "changed.ndjson"
    path.write_bytes(b"".join(change(lines)))
    return verify_file(path)


def forged(records, tmp_path, change, kind="film"):
    """Verify a record that was changed by somebody who computed all hashes again."""
    codec, fresh = RecordCodec(), RecordCodec()
    lines = [codec.decode(raw) for raw in records[kind].read_bytes().splitlines(keepends=True)]
    path = tmp_path / "forged.ndjson"
    path.write_bytes(b"".join(fresh.encode(line) for line in change(lines)))
    return verify_file(path)


@pytest.mark.parametrize("kind", JOBS)
def test_a_record_that_nobody_touched_is_equal(records, kind):
    found = verify_file(records[kind])
    assert (found.equal, found.difference) == (True, "")
    assert found.head == json.loads(records[kind].read_bytes().splitlines()[-1])["events_sha256"]


@pytest.mark.parametrize("number", [0, 1, 7, 20, -1])
def test_an_edited_line_is_named(records, tmp_path, number):
    def edit(lines):
        fields = json.loads(lines[number])
        fields["line" if number == 0 else "task" if "task" in fields else "events"] = 99
        lines[number] = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        return lines

    found = changed(records, tmp_path, edit)
    total = len(records["film"].read_bytes().splitlines())
    assert not found.equal
    assert found.difference.startswith(f"line {number % total + 1}: Its hash does not fit")


def test_a_removed_line_is_found_at_the_one_that_follows(records, tmp_path):
    found = changed(records, tmp_path, lambda lines: lines[:9] + lines[10:])
    assert found.difference.startswith("line 10: Its hash does not fit")


def test_lines_that_changed_places_are_found(records, tmp_path):
    found = changed(records, tmp_path, lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]])
    assert found.difference.startswith("line 5: Its hash does not fit")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lines: lines[:-1], "The file ends before its last line"),
        (lambda lines: [*lines[:-1], lines[-1][:-5]], "It is torn: its end is missing"),
        (lambda lines: [*lines, b"{}\n"], "Nothing may follow the last line"),
        (lambda lines: [b"not json\n", *lines], "line 1: It is not JSON"),
        (lambda lines: [b"[]\n", *lines], "line 1: It is not a JSON object"),
        (lambda lines: [lines[0].replace(b'","key"', b'", "key"'), *lines[1:]], "line 1: It is not canonical JSON"),
        (lambda lines: lines[1:], "line 1: Its hash does not fit"),
        (lambda lines: [], "line 1: The file ends"),
    ],
)
def test_what_is_not_a_whole_record_is_named(records, tmp_path, change, reason):
    found = changed(records, tmp_path, change)
    assert not found.equal
    assert reason in found.difference


def test_the_command_refuses_a_file_that_is_not_there(tmp_path):
    result = CliRunner().invoke(verify, [str(tmp_path / "none.ndjson")])
    assert isinstance(result.exception, RecordDamaged)
    assert exit_code_of(result.exception) == ExitCode.MISUSE


def test_a_file_that_is_not_there_is_named(tmp_path):
    assert "cannot be read" in verify_file(tmp_path / "none.ndjson").difference


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lines: [line for line in lines if getattr(line, "name", "") != "done"], "the number of its outcomes"),
        (lambda lines: [line for line in lines if getattr(line, "segment", None) != 1], "It belongs to another task"),
        (lambda lines: lines[:1] + lines[-1:], "tasks should be 0 and is 8"),
        (lambda lines: [lines[0], *lines[2:]], "It stands in the wrong place"),
        (lambda lines: [*lines[:3], lines[1], *lines[3:]], "Task 1 should follow"),
    ],
)
def test_a_record_with_new_hashes_must_still_make_sense(records, tmp_path, change, reason):
    found = forged(records, tmp_path, change)
    assert not found.equal
    assert reason in found.difference
