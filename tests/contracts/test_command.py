"""`leasehold contracts check`: its output and its exit code."""

import json
import os

import pytest
from click.testing import CliRunner

from leasehold.cli.root import root
from leasehold.contracts import Reason
from tests.contracts.samples import ROOT, changed, full, lines, make_run

SCORES = "state/paragraph_scores.jsonl"


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "run-1")


def command(*words):
    return CliRunner().invoke(root, ["contracts", "check", *map(str, words)], prog_name="leasehold")


def append(path, text):
    with path.open("ab") as file:
        file.write(text)


def test_a_run_in_order_ends_with_nought_and_one_line(run):
    result = command(run)
    assert (result.exit_code, result.output) == (0, "16 rows, nothing wrong.\n")


def test_problems_are_a_line_each_and_end_with_one(run):
    append(run / SCORES, b'{}\n{"schema_version": "2.0.0"}\n')
    result = command(run)
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"{SCORES}:4 $.schema_version SCHEMA_VERSION_MISSING: without it nobody knows how to read the row",
        f"{SCORES}:5 $.schema_version SCHEMA_VERSION_UNSUPPORTED: this reader knows major version 1",
        "18 rows, 2 problems.",
    ]


def test_wrong_counts_end_with_one(run):
    text = (run / "manifest.json").read_text(encoding="utf-8")
    (run / "manifest.json").write_text(text.replace('"paragraphs_total": 3', '"paragraphs_total": 4'), encoding="utf-8")
    result = command(run)
    assert result.exit_code == 1
    assert result.output.startswith("manifest.json $.counts.paragraphs_total COUNT_WRONG: it is 4; ")


def test_programs_get_the_same_as_json(run):
    append(run / SCORES, b"\xff\n")
    result = command(run, "--json")
    found = json.loads(result.output)
    assert result.exit_code == 1
    assert (found["rows"], found["problems"]) == (17, 1)
    assert found["diagnostics"] == [
        {"file": SCORES, "line": 4, "path": "$", "code": Reason.ENCODING_INVALID, "message": "byte 1 is not UTF-8"}
    ]
    assert command(make_run(run.parent / "other"), "--json").exit_code == 0


def test_only_the_first_problems_are_shown_and_the_rest_is_counted(run):
    append(run / SCORES, b"{}\n" * 5)
    result = command(run, "--max-problems", 2)
    assert result.output.splitlines()[2:] == ["… and 3 more problems", "21 rows, 5 problems."]
    found = json.loads(command(run, "--json", "--max-problems", 0).output)
    assert (found["problems"], found["diagnostics"]) == (5, [])


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("nowhere",),
        (__file__,),
        (".", "--max-problems", -1),
        (".", "--max-problems", "x"),
        (".", "--nonsense"),
        (".", "."),
    ],
)
def test_wrong_usage_ends_with_two(words):
    assert command(*words).exit_code == 2


def test_names_from_the_disk_cannot_write_on_the_terminal(run):
    (run / os.fsdecode(b"review/normalized/\x1b[2J\xff.jsonl")).write_bytes(b"x")
    result = command(run)
    assert result.exit_code == 1
    assert result.output.startswith("review/normalized/\\x1b[2J\\udcff.jsonl:1 $ JSON_INVALID: ")
    assert "\x1b" not in command(run, "--json").output


def test_the_document_shows_what_the_command_really_prints(tmp_path, monkeypatch):
    score = full("paragraph_scores_row")
    broken = [
        changed(score, "scores.fluency", 1.2),
        score | {"run_id": "r-2"},
        score | {"schema_version": "2.0.0"},
        score | {"colour": "blue"},
    ]
    for name in ("r-1", "r-2", "r-3"):
        make_run(tmp_path / "runs" / name)
    append(tmp_path / "runs/r-2" / SCORES, lines(*broken) + b'{"schema_version": "1.0.0", "run_id"\n')
    later = full("paragraph_state_row") | {"paragraph_index": 2, "state": "approved"}
    append(tmp_path / "runs/r-3/state/paragraph_state.jsonl", lines(later))
    monkeypatch.chdir(tmp_path)
    shown = [
        f"$ leasehold contracts check runs/{name}\n{command(f'runs/{name}').output}" for name in ("r-1", "r-2", "r-3")
    ]
    assert f"```console\n{''.join(shown)}```" in (ROOT / "docs" / "contracts.md").read_text(encoding="utf-8")
