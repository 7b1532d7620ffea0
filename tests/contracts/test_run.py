"""A whole run folder: what is in order passes, and every kind of disorder is reported with its place."""

import json
import os
from pathlib import Path

import pytest

from leasehold.contracts import Diagnostic, FileUnreadable, Reason, RunLayout, check_run
from leasehold.contracts.validate_blocks import BLOCK_BYTES, ROW_BYTES_MAX
from tests.contracts.samples import ARTIFACTS, changed, full, lines, make_run, write

FILES = tuple(path for path in ARTIFACTS.values() if "*" not in path)
ROWS = {
    "state/paragraph_state.jsonl": "paragraph_state_row",
    "state/paragraph_scores.jsonl": "paragraph_scores_row",
    "state/rework_queue.jsonl": "rework_queue_row",
    "final/candidate_map.jsonl": "candidate_map_row",
    "review/normalized/numbers.jsonl": "normalized_review_row",
}


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "run-1")


def problems(folder):
    checked = check_run(folder)
    assert checked.problems == len(checked.diagnostics)
    return [(each.file, each.line, each.path, each.code) for each in checked.diagnostics]


def manifest(run):
    return json.loads((run / "manifest.json").read_text(encoding="utf-8"))


def rewrite(run, fields):
    (run / "manifest.json").write_text(json.dumps(fields), encoding="utf-8")


def append(path, text):
    with path.open("ab") as file:
        file.write(text)


def test_a_run_in_order_has_no_problems_and_its_rows_are_counted(run):
    checked = check_run(run)
    assert (checked.ok, checked.rows, checked.diagnostics) == (True, 6 + 3 + 1 + 3 + 3, ())


@pytest.mark.parametrize(
    ("count", "code"),
    [("paragraphs_total", 4), ("paragraphs_approved", 0), ("paragraphs_rework", 2), ("paragraphs_rejected", 3)],
)
def test_a_count_that_the_rows_do_not_give_is_wrong(run, count, code):
    rewrite(run, changed(manifest(run), f"counts.{count}", code))
    assert problems(run) == [("manifest.json", None, f"$.counts.{count}", Reason.COUNT_WRONG)]
    (diagnostic,) = check_run(run).diagnostics
    expected = 3 if count == "paragraphs_total" else 1
    assert diagnostic.message == f"it is {code}; the rows of state/paragraph_state.jsonl give {expected}"


def test_a_paragraph_is_counted_where_its_last_row_leaves_it(run):
    append(run / FILES[0], lines(full("paragraph_state_row") | {"paragraph_index": 2, "state": "approved"}))
    assert problems(run) == [
        ("manifest.json", None, "$.counts.paragraphs_approved", Reason.COUNT_WRONG),
        ("manifest.json", None, "$.counts.paragraphs_rework", Reason.COUNT_WRONG),
    ]
    rewrite(run, changed(changed(manifest(run), "counts.paragraphs_approved", 2), "counts.paragraphs_rework", 0))
    assert problems(run) == []


def test_the_last_row_of_a_paragraph_counts_also_when_it_was_read_long_after_the_first(tmp_path):
    run = make_run(tmp_path / "run-1", ends=("approved", "rejected") * 500)
    assert (run / FILES[0]).stat().st_size > 4 * BLOCK_BYTES
    assert problems(run) == []


def test_a_manifest_need_not_count_and_may_leave_out_the_rejected(run):
    fields = manifest(run)
    del fields["counts"]["paragraphs_rejected"]
    rewrite(run, fields)
    assert problems(run) == []
    del fields["counts"]
    rewrite(run, fields)
    assert problems(run) == []


def test_counts_are_not_compared_with_rows_that_could_not_all_be_read(run):
    rewrite(run, changed(manifest(run), "counts.paragraphs_total", 4))
    append(run / FILES[0], b"{}\n")
    assert problems(run) == [(FILES[0], 7, "$.schema_version", Reason.SCHEMA_VERSION_MISSING)]


@pytest.mark.parametrize("path", ROWS)
@pytest.mark.parametrize("field", ["run_id", "document_id"])
def test_a_row_of_another_run_or_document_is_foreign(run, path, field):
    foreign = full(ROWS[path]) | {field: "another", "paragraph_index": 9}
    before = len((run / path).read_bytes().splitlines())
    append(run / path, lines(foreign))
    found = [each for each in problems(run) if each[3] != Reason.COUNT_WRONG]
    assert found == [(path, before + 1, f"$.{field}", Reason.ID_FOREIGN)]


@pytest.mark.parametrize("path", ROWS)
def test_a_row_that_breaks_its_contract_is_found_in_every_file(run, path):
    append(run / path, lines(full(ROWS[path]) | {"extra": 1}))
    ((file, _, place, code),) = problems(run)
    assert (file, place, code) == (path, "$.extra", Reason.FIELD_UNKNOWN)


def test_a_second_candidate_for_a_paragraph_is_reported(run):
    append(run / "final/candidate_map.jsonl", lines(full("candidate_map_row") | {"paragraph_index": 2}))
    assert problems(run) == [("final/candidate_map.jsonl", 4, "$.paragraph_index", Reason.ROW_DUPLICATE)]


@pytest.mark.parametrize("path", ["manifest.json", *FILES])
def test_a_missing_file_is_reported_and_the_others_are_checked(run, path):
    (run / path).unlink()
    append(run / "review/normalized/numbers.jsonl", b"{}\n")
    assert problems(run) == [
        (path, None, "$", Reason.FILE_MISSING),
        ("review/normalized/numbers.jsonl", 4, "$.schema_version", Reason.SCHEMA_VERSION_MISSING),
    ]


def test_an_empty_folder_misses_everything(tmp_path):
    assert {each[0] for each in problems(tmp_path)} == {"manifest.json", *FILES, "review/normalized"}
    assert {each[3] for each in problems(tmp_path)} == {Reason.FILE_MISSING}


def test_every_review_of_the_glob_is_checked_and_nothing_else(run):
    home = run / "review/normalized"
    for name in ("a.jsonl", "b.jsonl", ".c.jsonl", "d.jsonl.tmp", "e.txt"):
        (home / name).write_bytes(b"{}\n")
    assert [each[0] for each in problems(run)] == ["review/normalized/a.jsonl", "review/normalized/b.jsonl"]


def test_a_run_without_reviews_yet_is_in_order(run):
    (run / "review/normalized/numbers.jsonl").unlink()
    assert problems(run) == []


@pytest.mark.parametrize(
    ("text", "path", "code"),
    [
        (b"", "$", Reason.JSON_INVALID),
        (b"{", "$", Reason.JSON_INVALID),
        (b"[]", "$", Reason.VALUE_INVALID),
        (b"{}", "$.schema_version", Reason.SCHEMA_VERSION_MISSING),
        (b'{"schema_version": "2.0.0"}', "$.schema_version", Reason.SCHEMA_VERSION_UNSUPPORTED),
        (b"\xff\xfe", "$", Reason.ENCODING_INVALID),
        (b" " * (ROW_BYTES_MAX + 1), "$", Reason.ROW_TOO_LARGE),
    ],
)
def test_an_invalid_manifest_is_reported_and_the_rows_are_still_checked(run, text, path, code):
    (run / "manifest.json").write_bytes(text)
    append(run / FILES[1], b"{}\n")
    assert problems(run) == [
        ("manifest.json", None, path, code),
        (FILES[1], 4, "$.schema_version", Reason.SCHEMA_VERSION_MISSING),
    ]


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def subfolder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("path", ["manifest.json", *ROWS])
@pytest.mark.parametrize("instead", [fifo, link, loop, device, subfolder])
def test_what_is_no_regular_file_is_neither_followed_nor_waited_for(run, path, instead):
    instead(run / path)
    assert problems(run) == [(path, None, "$", Reason.FILE_UNREADABLE)]


@pytest.mark.parametrize("path", ["state", "final", "review", "review/normalized"])
def test_a_folder_that_is_a_link_is_not_followed(run, path):
    (run / path).rename(run / "elsewhere")
    (run / path).symlink_to(run / "elsewhere")
    found = problems(run)
    assert found
    assert {(each[0].startswith(path), each[3]) for each in found} == {(True, Reason.FILE_UNREADABLE)}


def test_the_folder_that_a_caller_names_may_itself_be_a_link(run, tmp_path):
    (tmp_path / "latest").symlink_to(run)
    assert problems(tmp_path / "latest") == []


@pytest.mark.parametrize("name", ["nowhere", "run-1/manifest.json", "a\x00b"])
def test_a_folder_that_cannot_be_opened_is_an_error_and_not_a_verdict(run, tmp_path, name):
    with pytest.raises(FileUnreadable):
        check_run(tmp_path / name)


def test_a_file_name_of_undecodable_bytes_is_reported(run):
    bad = os.fsdecode(b"review/normalized/\xff\x1b.jsonl")
    (run / bad).write_bytes(b"x")
    ((file, line, _, code),) = problems(run)
    assert (file, line, code) == (bad, 1, Reason.JSON_INVALID)


def test_only_so_many_problems_are_kept_and_all_are_counted(run):
    append(run / FILES[1], b"{}\n" * 50)
    checked = check_run(run, problems_kept=3)
    assert (checked.problems, len(checked.diagnostics), checked.ok) == (50, 3, False)
    assert checked.diagnostics[0] == Diagnostic(
        FILES[1], 4, "$.schema_version", Reason.SCHEMA_VERSION_MISSING, checked.diagnostics[0].message
    )


def test_an_empty_document_makes_a_run_in_order(tmp_path):
    run = make_run(tmp_path / "run-1", ends=())
    write(run, "state/rework_queue.jsonl")
    checked = check_run(run)
    assert (checked.ok, checked.rows) == (True, 0)


class NoRules:
    """Rules of a pipeline that compares nothing."""

    def check_rows(self, path, block):
        return ()

    def check_manifest(self, manifest, sound):
        return ()


def test_a_pipeline_describes_its_own_run_folder(run):
    scores = {"scores.jsonl": "paragraph_scores_row"}
    layout = RunLayout("manifest.json", "manifest", scores, {}, ("run_id",), NoRules)
    (run / "state/paragraph_scores.jsonl").rename(run / "scores.jsonl")
    append(run / "scores.jsonl", lines(full("paragraph_scores_row") | {"document_id": "another"}))
    checked = check_run(run, layout=layout)
    assert (checked.ok, checked.rows) == (True, 4)
    append(run / "scores.jsonl", lines(full("paragraph_scores_row") | {"run_id": "another"}))
    (diagnostic,) = check_run(run, layout=layout).diagnostics
    assert (diagnostic.line, diagnostic.path, diagnostic.code) == (5, "$.run_id", Reason.ID_FOREIGN)


def test_every_reason_is_shown_by_a_test():
    """The set is closed: what no test can bring about has no place in it."""
    here = Path(__file__).parent
    tests = "".join(path.read_text(encoding="utf-8") for path in here.glob("test_*.py"))
    assert {reason for reason in Reason if f"Reason.{reason.name}" not in tests} == set()
