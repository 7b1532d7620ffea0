"""What a person does about a run: approve, reject, rework once more, and make its files again."""

import getpass
import json
import shutil
from contextlib import closing

import pytest

from leasehold.pipelines.translate.documents.document import PARAGRAPH_BYTES_MAX
from leasehold.pipelines.translate.folder import RunFolder
from leasehold.pipelines.translate.history import histories, inputs_of
from leasehold.pipelines.translate.paragraphs import Decision, DecisionKind
from leasehold.pipelines.translate.planning import submit_round
from leasehold.pipelines.translate.settings import RunSettings
from leasehold.pipelines.translate.toolchain import Toolchain
from tests.pipelines.translate.workspace import (
    DOOR,
    HOUSE,
    SHY,
    Workspace,
    command,
    contents,
    endpoint,
    requested_text,
    spanish,
    traces,
)
from tests.support.http.model_endpoint import completion

SHYER = SHY.replace("wombat", "dugong")
SHYEST = SHY.replace("wombat", "quokka")
ALL = (HOUSE, SHY, SHYER, SHYEST)


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A run with one paragraph that is approved and three that wait. Not to be changed."""
    made = Workspace(tmp_path_factory.mktemp("ended"))
    made.write(*ALL)
    assert made.translate().exit_code == 1
    return made


@pytest.fixture
def waiting(ended, tmp_path):
    """A copy of that run, to decide about."""
    shutil.copytree(ended.folder, tmp_path / "copy")
    return Workspace(tmp_path / "copy")


def of(workspace, name, index):
    return [row for row in workspace.rows(name) if row["paragraph_index"] == index]


def check_rows(workspace):
    """See that every row of the run obeys its contract."""
    answer = command("contracts", "check", str(workspace.run_folder))
    assert answer.exit_code == 0, answer.output


def test_paragraphs_are_approved_as_they_are_in_the_name_of_the_person_given(waiting):
    answer = waiting.about("approve", "2", "4", "2", "--by", "Ana Ñ.", "--note", "a name")
    assert (answer.exit_code, answer.stdout) == (0, "     2  approved\n     4  approved\n")
    assert waiting.status() == ["approved", "approved", "rework_required", "approved"]
    assert waiting.final() == [spanish(HOUSE), spanish(SHY), SHYER, spanish(SHYEST)]
    *_, run_translate, _, approved = of(waiting, "state/paragraph_state.jsonl", 2)
    assert (run_translate["actor"], run_translate["attempt"]) == ("Ana Ñ.", 3)
    assert (approved["state"], approved["notes"]) == ("approved", "a name")
    (chosen,) = of(waiting, "final/candidate_map.jsonl", 2)
    assert (chosen["selection_outcome"], chosen["selection_reason"]) == ("approved", "a name")
    assert [row["paragraph_index"] for row in waiting.rows("state/rework_queue.jsonl")] == [3]
    (review,) = [one for path in waiting.run_folder.glob("review/normalized/Ana*") for one in waiting.rows(path)][:1]
    assert (review["reviewer"], review["review_outcome"]) == ("Ana Ñ.", "accept_with_notes")
    assert json.loads((waiting.run_folder / "manifest.json").read_text())["counts"]["paragraphs_approved"] == 3
    check_rows(waiting)
    assert waiting.translate().exit_code == 1
    assert waiting.about("approve", "3").exit_code == 0
    assert of(waiting, "state/paragraph_state.jsonl", 3)[-3]["actor"] == getpass.getuser()
    assert waiting.translate().exit_code == 0


def test_a_text_of_a_persons_own_goes_into_the_document_and_has_no_scores(waiting):
    before = len(of(waiting, "state/paragraph_scores.jsonl", 2))
    text = "El uombat *nunca* «gloma» & <b>más</b>."
    assert waiting.about("approve", "2", "--text", text).exit_code == 0
    assert waiting.final()[1] == text
    assert len(of(waiting, "state/paragraph_scores.jsonl", 2)) == before
    check_rows(waiting)


def test_a_rejected_paragraph_keeps_its_source_and_its_reason(waiting):
    assert waiting.about("reject", "3", "--note", "a poem; leave it", "--by", "Ben").exit_code == 0
    assert waiting.status()[2] == "rejected"
    assert waiting.final()[2] == SHYER
    (row,) = of(waiting, "final/candidate_map.jsonl", 3)
    assert (row["selection_outcome"], row["selection_reason"]) == ("rejected", "human_flag; a poem; leave it")
    assert "1 rejected:" in waiting.about("status").stdout
    check_rows(waiting)


def test_all_that_wait_are_decided_at_once_and_then_none_are_left(waiting):
    assert waiting.about("approve", "--all").stdout.split() == ["2", "approved", "3", "approved", "4", "approved"]
    again = waiting.about("reject", "--all", "--note", "n")
    assert (again.exit_code, again.stdout) == (0, "Nothing waits.\n")
    assert waiting.status() == ["approved"] * 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["approve", "1"], "NOT_WAITING: This paragraph does not wait for a person. Paragraph 1 is approved."),
        (["reject", "1", "--note", "n"], "NOT_WAITING"),
        (["approve", "2", "99"], "Paragraphs are numbered from 1 to 4; this is 99."),
        (["approve", "2", "1"], "NOT_WAITING"),
        (["approve", "0"], "0 is not in the range"),
        (["approve", "x"], "'x' is not a valid integer"),
        (["approve"], "Pass the numbers of paragraphs, or --all."),
        (["approve", "--all", "2"], "Pass the numbers of paragraphs, or --all."),
        (["approve", "2", "3", "--text", "t"], "--text is for one paragraph."),
        (["approve", "--all", "--text", "t"], "--text is for one paragraph."),
        (["approve", "2", "--text", " \n"], "DECISION_INVALID"),
        (["approve", "2", "--text", "t" * 100_001], "At most 100,000 characters"),
        (["approve", "2", "--text", "half \udcff"], "DECISION_INVALID"),
        (["approve", "2", "--by", "b" * 201], "At most 200 characters"),
        (["approve", "2", "--by", " "], "DECISION_INVALID"),
        (["reject", "2", "--note", "n" * 2_001], "At most 2,000 characters"),
        (["reject", "2"], "Missing option '--note'"),
    ],
)
def test_a_decision_that_cannot_be_made_is_refused_and_changes_nothing(ended, words, message):
    before = traces(ended.run_folder)
    answer = ended.about(*words)
    assert answer.exit_code == 2, answer.output
    assert message in answer.stderr
    assert answer.stdout == ""
    assert traces(ended.run_folder) == before
    assert ended.status() == ["approved", *["rework_required"] * 3]


def test_a_paragraph_is_decided_once(waiting):
    assert waiting.about("reject", "2", "--note", "no").exit_code == 0
    answer = waiting.about("approve", "2")
    assert answer.exit_code == 2
    assert "Paragraph 2 is rejected." in answer.stderr


def test_files_that_are_gone_or_edited_are_made_again_byte_for_byte(waiting):
    waiting.about("approve", "2", "--note", "n")
    before = contents(waiting.run_folder)
    for name in ("final", "state", "review"):
        shutil.rmtree(waiting.run_folder / name)
    for name in ("manifest.json", "report.html"):
        (waiting.run_folder / name).unlink()
    answer = waiting.about("project")
    assert (answer.exit_code, answer.stdout) == (0, f"4 paragraphs: {waiting.run_folder}\n")
    assert contents(waiting.run_folder) == before
    (waiting.run_folder / "final" / "story.md").write_text("edited")
    (waiting.run_folder / "review" / "normalized" / "nobody.jsonl").write_text("{}\n")
    assert waiting.about("project").exit_code == 0
    assert contents(waiting.run_folder) == before
    made = traces(waiting.run_folder)
    assert waiting.about("project").exit_code == 0
    assert traces(waiting.run_folder) == made


def test_only_what_waits_is_reworked_when_asked_for_and_new_paragraphs_wait_for_another_day(waiting):
    good = "El uombat nunca aplasta el artilugio con su llave inglesa el 12 de mayo."
    known = {SHY: good, DOOR: spanish(DOOR)}
    waiting.write(*ALL, DOOR)

    def answer(asked):
        return completion(json.dumps({"translation": known.get(requested_text(asked), SHYEST)}))

    with endpoint(waiting, answer) as server:
        again = waiting.translate("--rework-only")
        assert (again.exit_code, again.stdout.splitlines()[0]) == (1, "5 paragraphs, 3 retried")
        assert {requested_text(asked) for asked in server.asked} == {SHY, SHYER, SHYEST}
        assert waiting.status() == ["approved", "approved", "rework_required", "rework_required"]
        assert waiting.final() == [spanish(HOUSE), good, SHYER, SHYEST, DOOR]
        before = len(server.asked)
        assert waiting.translate().stdout.splitlines()[0] == "5 paragraphs, 1 new"
        assert [requested_text(asked) for asked in server.asked[before:]] == [DOOR]
    assert waiting.final()[4] == spanish(DOOR)
    check_rows(waiting)


def submitted_and_killed(workspace, index, decision):
    """Submit a decision and do nothing more, as a command that is killed then."""
    with closing(Toolchain(RunSettings.read(workspace.run_folder))) as toolchain:
        document = RunFolder(workspace.run_folder).document()
        history = list(histories(toolchain, document))[index - 1]
        submit_round(toolchain, history, dict(inputs_of(toolchain, document))[history.planned.key], decision)


def test_a_rework_that_was_cut_off_is_gone_on_with_and_not_asked_for_again(waiting):
    submitted_and_killed(waiting, 2, Decision(DecisionKind.RETRY, "Ana"))
    again = waiting.translate("--rework-only")
    assert (again.exit_code, again.stdout.splitlines()[0]) == (1, "4 paragraphs, 2 retried")
    found = [len(of(waiting, "state/paragraph_scores.jsonl", index)) for index in (2, 3, 4)]
    assert found[0] == found[1] == found[2]
    assert "3 wait for a person" in again.stdout


@pytest.mark.parametrize("words", [["reject", "2", "--note", "no"], ["approve", "2"]])
def test_a_decision_that_was_interrupted_is_carried_out_before_another_is_taken(waiting, words):
    submitted_and_killed(waiting, 2, Decision(DecisionKind.APPROVE, "Ana", text="Así."))
    assert "2 wait for a person" in waiting.about("status").stdout
    answer = waiting.about(*words)
    assert answer.exit_code == 2
    assert "The decision about paragraph 2 before is not carried out yet" in answer.stderr
    assert waiting.about("reject", "--all", "--note", "no").stdout.split() == ["3", "rejected", "4", "rejected"]
    assert waiting.translate().exit_code == 1
    assert waiting.status() == ["approved", "approved", "rejected", "rejected"]
    assert waiting.final()[1] == "Así."
    assert [row["state"] for row in of(waiting, "state/paragraph_state.jsonl", 2)].count("approved") == 1


def test_there_is_nothing_to_rework_where_no_run_is(workspace):
    workspace.write(HOUSE)
    answer = workspace.translate("--rework-only")
    assert answer.exit_code == 2
    assert "RUN_MISSING" in answer.stderr
    assert not workspace.out.exists()


DOORS = "The house is red and it has 12 doors."
WORSE = (
    "La casa es roja y tiene puertas.",
    "La la casa casa es es roja roja y y tiene tiene 12 puertas.",
    "La casa es roja y tiene 13 puertas.",
    "La la casa casa es es roja roja y y tiene 12 puertas puertas.",
)


@pytest.mark.parametrize("attempts", [2, 4])
def test_a_paragraph_that_fails_another_way_each_time_is_tried_so_often_and_then_rejected(workspace, attempts):
    workspace.write(DOORS)
    left = list(WORSE)
    with endpoint(workspace, lambda _: completion(json.dumps({"translation": left.pop(0)}))) as server:
        answer = workspace.translate("--max-attempts", str(attempts))
    assert (answer.exit_code, len(server.asked)) == (1, attempts), answer.output
    assert workspace.status() == ["rejected"]
    assert "1 rejected:" in answer.stdout
    assert workspace.final() == [DOORS]
    findings = [json.loads(asked.body["messages"][-1]["content"]).get("findings") for asked in server.asked]
    assert findings[0] is None
    assert all(findings[1:])


def test_without_anybody_to_ask_what_would_wait_is_rejected(workspace):
    workspace.write(HOUSE, SHY)
    answer = workspace.translate("--unattended")
    assert (answer.exit_code, workspace.status()) == (1, ["approved", "rejected"])
    assert "wait for a person" not in answer.stdout
    assert workspace.rows("state/rework_queue.jsonl") == []


def test_a_threshold_decides_what_is_good_enough_and_stands_in_the_rows(workspace):
    workspace.write(HOUSE, "The boat is white.")
    assert workspace.translate("--run-id", "mild").exit_code == 0
    answer = workspace.translate("--threshold", "adequacy=0.9", "--threshold", "composite=0.1")
    assert answer.exit_code == 1
    assert workspace.status() == ["approved", "rework_required"]
    (row, *_) = workspace.rows("state/paragraph_scores.jsonl")
    assert (row["thresholds"]["adequacy"], row["thresholds"]["composite"]) == (0.9, 0.1)


def test_the_longest_paragraphs_that_are_read_can_be_decided_about_and_reworked(workspace):
    """A job holds a paragraph, its neighbours and two candidates; all of that has to fit into a payload."""
    longest = ["漢字" * (PARAGRAPH_BYTES_MAX // 6 - number) for number in range(3)]
    workspace.write(*longest)
    assert workspace.translate().exit_code == 1
    assert workspace.status() == ["rework_required"] * 3
    again = workspace.translate("--rework-only")
    assert (again.exit_code, workspace.status()) == (1, ["rework_required"] * 3), again.output
    assert workspace.about("approve", "2").exit_code == 0
    assert workspace.about("reject", "1", "3", "--note", "left as they are").exit_code == 0
    assert workspace.status() == ["rejected", "approved", "rejected"]
