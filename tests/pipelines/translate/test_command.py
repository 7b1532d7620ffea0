"""The command from start to end: its output, its exit code, and that the same again does nothing."""

import json

import pytest

from tests.pipelines.translate.workspace import HOUSE, SHY, TABLE, Workspace, command, traces

TEXT = """\
---
title: Houses
---

# The house

The house is *red*, and it has 12 [windows](https://example.org/windows).

- The garden is big.
- The garden does not have a tree.

```
the house is code
```
"""
TRANSLATED = """\
---
title: Houses
---

# La casa

La casa es *roja*, y tiene 12 [ventanas](https://example.org/windows).

- El jardín es grande.
- El jardín no tiene un árbol.

```
the house is code
```
"""


@pytest.fixture
def house(apertium, database, tmp_path):
    """A small document, to be translated by Apertium."""
    made = Workspace(tmp_path, database, "house.md")
    made.document.write_text(TEXT)
    made.translator = made.back_translator = "apertium"
    return made


def test_a_document_becomes_its_translation_and_the_same_command_again_touches_nothing(house):
    with house.process() as running:
        assert running.end() == 0, running.log
    report = f"report  {house.run_folder / 'report.html'}"
    assert running.log.splitlines() == ["4 paragraphs, 4 new", "       4  approved", report]
    assert (house.run_folder / "final" / "house.md").read_text() == TRANSLATED
    assert len(house.answers()) == 4
    assert command("contracts", "check", str(house.run_folder)).exit_code == 0
    before = traces(house.run_folder)
    with house.process() as running:
        assert running.end() == 0, running.log
    assert running.log.splitlines() == ["4 paragraphs, nothing new", "       4  approved", report]
    assert traces(house.run_folder) == before
    manifest = json.loads((house.run_folder / "manifest.json").read_text())
    assert (manifest["run_id"], manifest["document_id"]) == ("house-en-es", "house.md")
    assert manifest["counts"]["paragraphs_approved"] == manifest["counts"]["paragraphs_total"] == 4


def test_paragraphs_not_approved_are_listed_with_their_reasons_and_set_the_exit_code(workspace):
    workspace.write(HOUSE, SHY)
    answer = workspace.translate()
    assert answer.exit_code == 1, answer.output
    waits = f"       2  {SHY[:59]}…  [low_adequacy, low_fluency, human_flag]"
    decide = f"Decide with: leasehold translate approve {workspace.run_folder} 2   (or: reject)"
    status = ["       1  rework_required", "       1  approved", "", "1 wait for a person:", waits, decide]
    report = f"report  {workspace.run_folder / 'report.html'}"
    assert answer.stdout.splitlines() == ["2 paragraphs, 2 new", *status, report]
    assert workspace.about("status").stdout.splitlines() == status
    assert workspace.translate().stdout.splitlines() == ["2 paragraphs, nothing new", *status, report]
    assert len(workspace.answers()) == 3
    assert json.loads(workspace.about("status", "--json").stdout) == [
        {"paragraph": 1, "state": "approved", "tries": 1, "failure": ""},
        {"paragraph": 2, "state": "rework_required", "tries": 2, "failure": ""},
    ]


def test_the_codes_of_a_terminal_in_a_paragraph_are_not_sent_to_one(workspace):
    workspace.document = workspace.document.with_suffix(".txt")
    workspace.document.write_text(f"{TABLE}\n\n\x1b[2J\x1b]0;owned\x07 {SHY}\n")
    answer = workspace.translate()
    assert answer.exit_code == 1
    assert "owned" in answer.stdout
    assert not {"\x1b", "\x07"} & set(answer.output)


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["approve", "--help"], ["status", "-h"], ["pairs"]])
def test_every_verb_of_the_command_explains_itself(words):
    answer = command("translate", *words)
    assert answer.exit_code == 0
    assert words == ["pairs"] or "Examples:" in answer.stdout


def test_the_pairs_of_this_machine_are_listed(apertium):
    assert {"en es", "es en"} <= set(command("translate", "pairs").stdout.splitlines())
