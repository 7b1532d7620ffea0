"""Real Apertium on a real chapter, unattended: every paragraph accounted for, the document's structure as it was."""

from collections import Counter, defaultdict

import pytest

from leasehold.contracts import check_run
from leasehold.pipelines.translate.api import status
from leasehold.pipelines.translate.documents import read_document
from leasehold.pipelines.translate.gate import ReworkReason
from leasehold.pipelines.translate.paragraphs import content_hash
from tests.pipelines.translate.documents.structure import blocks_of, inlines_of
from tests.pipelines.translate.finished_run import run_translate
from tests.support.needs import APERTIUM
from tests.tidy.tree import ROOT

CHAPTER = ROOT / "tests/pipelines/translate/chapter/chapter.md"
ACCEPTED_LEAST = 0.85  # as in test_calibration.py, with back-translation
REASONS = set(ReworkReason)
LINES = 700


@pytest.fixture(scope="module", params=["beginning", pytest.param("whole", marks=pytest.mark.soak)])
def chapter(request, tmp_path_factory):
    """The beginning of the chapter, to the end of a paragraph; in the soak, the whole."""
    text = CHAPTER.read_text(encoding="utf-8")
    if request.param == "beginning":
        text = "".join(text.splitlines(keepends=True)[:LINES]).rpartition("\n\n")[0] + "\n"
    part = tmp_path_factory.mktemp("source") / CHAPTER.name
    part.write_text(text, encoding="utf-8")
    return part


@pytest.fixture(scope="module", params=[APERTIUM.param("apertium")])
def run(chapter, tmp_path_factory):
    """The chapter translated once, for all tests here."""
    return run_translate(chapter, tmp_path_factory.mktemp("runs"), "--unattended", "--workers", "2")


@pytest.fixture(scope="module")
def source(chapter):
    return read_document(chapter)


def rejected(run):
    return [row for row in run.rows("final/candidate_map.jsonl") if row["selection_outcome"] == "rejected"]


def test_every_paragraph_of_the_chapter_ends_approved_or_rejected(run, source):
    counts = Counter(run.states)
    assert run.exit_code == (1 if counts["rejected"] else 0), run.output
    assert len(source.paragraphs) == len(run.states) > 100
    assert set(run.states) <= {"approved", "rejected"}
    assert counts["approved"] >= ACCEPTED_LEAST * len(source.paragraphs)
    assert (run.folder / ".leasehold/workers.log").read_text() == ""


def test_a_rejected_paragraph_has_its_reason_in_the_map_the_states_and_the_reviews(run):
    """A review shows it by its outcome, and by a finding or the score that is too low."""
    last = {row["paragraph_index"]: row for row in run.rows("state/paragraph_state.jsonl")}
    reviews = defaultdict(list)
    for row in run.reviews():
        reviews[row["paragraph_index"], row["reviewed_candidate_hash"]].append(row)
    assert rejected(run)
    for row in rejected(run):
        index = row["paragraph_index"]
        assert set(row["selection_reason"].split(", ")) <= REASONS
        assert last[index]["state"] == "rejected"
        assert last[index]["notes"] == row["selection_reason"]
        against = [one for one in reviews[index, row["selected_candidate_hash"]] if one["review_outcome"] == "rework"]
        assert against
        assert all(one["findings"] or "is below" in one["review_notes"] for one in against)


def test_a_candidate_is_tried_again_before_it_is_rejected(run):
    """And what was approved at once was not asked for again."""
    tried = Counter(row["paragraph_index"] for row in run.rows("state/paragraph_scores.jsonl"))
    reworked = {
        row["paragraph_index"] for row in run.rows("state/paragraph_state.jsonl") if row["state"] == "rework_required"
    }
    assert {row["paragraph_index"] for row in rejected(run)} <= reworked
    assert {index for index, count in tried.items() if count > 1} == reworked


def test_the_structure_of_the_translated_chapter_is_the_source_s(run, chapter):
    written = (run.folder / "final/chapter.md").read_text(encoding="utf-8")
    source = chapter.read_text(encoding="utf-8")
    assert written != source
    assert blocks_of(written) == blocks_of(source)
    kept = [Counter(map(repr, inlines)) for inlines in inlines_of(written)]
    assert kept == [Counter(map(repr, inlines)) for inlines in inlines_of(source)]
    assert sum(map(Counter.total, kept)) > 100


def test_the_translated_chapter_has_what_was_approved_and_else_the_source(run, source):
    chosen = {row["paragraph_index"]: row["selected_candidate_hash"] for row in run.rows("final/candidate_map.jsonl")}
    written = read_document(run.folder / "final/chapter.md")
    for before, after, state in zip(source.paragraphs, written.paragraphs, run.states, strict=True):
        wanted = chosen[before.index] if state == "approved" else content_hash(before.source)
        assert content_hash(after.source) == wanted


def test_every_row_of_the_chapter_obeys_its_contract_and_the_counts_are_right(run):
    checked = check_run(run.folder)
    assert (checked.problems, checked.diagnostics) == (0, ())
    assert checked.rows > 10 * len(run.states)
    counts = Counter(run.states)
    assert run.manifest["counts"] == {
        "paragraphs_total": len(run.states),
        "paragraphs_approved": counts["approved"],
        "paragraphs_rework": 0,
        "paragraphs_rejected": counts["rejected"],
    }
    assert run.rows("state/rework_queue.jsonl") == []


def test_the_report_of_the_chapter_shows_every_paragraph_and_fetches_nothing(run, source):
    for paragraph in source.paragraphs:
        assert f'<h3 id="p{paragraph.index}">' in run.report
    for fetching in ("<script", "<link", "<img", "<iframe", " src=", "url(", "@import"):
        assert fetching not in run.report
    for row in rejected(run):
        assert f'<a href="#p{row["paragraph_index"]}">' in run.report


def test_the_same_command_again_asks_nobody_and_changes_no_file(run, chapter):
    answers = (run.folder / ".leasehold/answers.jsonl").read_bytes()
    before = run.files()
    again = run_translate(chapter, run.folder.parent, "--unattended")
    assert again.exit_code == run.exit_code
    assert "nothing new" in again.output
    assert (run.folder / ".leasehold/answers.jsonl").read_bytes() == answers
    assert run.files() == before
    assert answers.count(b"\n") == sum(len(one.tries) for one in status(run.folder))
