"""Models drive the whole toolchain: a real one on this machine, which writes nonsense, and a scripted one.

Whatever a model answers, every paragraph ends approved, rejected or waiting, tokens are kept, and rows obey contracts.
"""

import json

import pytest

from leasehold.contracts import check_run
from leasehold.pipelines.translate.api import status
from tests.pipelines.translate.finished_run import run_translate
from tests.pipelines.translate.translators.model_calls import KEY
from tests.support.http.model_endpoint import EndpointServer, message, refusal

ALONE = ("--back-translator", "", "--parallel", "1")
LETTER = """# A letter

The *red* house has 12 windows.

We will **not** come on Monday.
"""
SPANISH = {
    "A letter": ["Una carta"],
    "The ⟦1⟧red⟦2⟧ house has 12 windows.": ["La casa ⟦1⟧ roja ⟦2⟧ tiene 12 ventanas."],
    "We will ⟦1⟧not⟦2⟧ come on Monday.": ["⟦1⟧Vendremos⟦2⟧ el lunes.", "⟦1⟧No⟦2⟧ vendremos el lunes."],
}
TOKENS = (90, 21)


def tokens(run):
    """Tokens in and out of all tries."""
    tries = [tried for one in status(run.folder) for tried in one.tries]
    return sum(tried.tokens_in or 0 for tried in tries), sum(tried.tokens_out or 0 for tried in tries)


def run_real_model(local_model, folder, *options):
    """Have a real model translate a note, and check what every such run keeps."""
    (folder / "note.txt").write_text("Good day.\n")
    model = ("--translator", local_model.spec, *options)
    run = run_translate(folder / "note.txt", folder / "runs", *model, *ALONE, "--max-attempts", "2")
    assert run.exit_code in (0, 1), run.output
    assert len(run.states) == 1
    assert set(run.states) <= {"approved", "rejected", "rework_required"}
    assert [one.failure for one in status(run.folder)] == [""]
    into, out = tokens(run)
    assert into > 100
    assert out > 2
    assert f"<dt>tokens in</dt><dd>{into:,}</dd>" in run.report
    assert f"<dt>tokens out</dt><dd>{out:,}</dd>" in run.report
    assert check_run(run.folder).problems == 0
    return run


@pytest.mark.early
def test_a_real_model_translates_a_document_from_end_to_end(local_model, tmp_path):
    run = run_real_model(local_model, tmp_path)
    assert [row for row in run.reviews() if row["reviewer"].startswith("model ")] == []


@pytest.mark.soak
def test_a_real_model_translates_and_reviews_a_document_from_end_to_end(local_model, tmp_path):
    """A review by the schema, with as many findings as it may have, takes this model a minute."""
    run = run_real_model(local_model, tmp_path, "--reviewer", local_model.spec)
    reviewed = [row for row in run.reviews() if row["reviewer"] == "model openai:smollm2"]
    assert {row["paragraph_index"] for row in reviewed} == {1}


class Clerk:
    """A model behind Anthropic's interface: translates from a table, and finds no fault in a translation."""

    def __init__(self):
        self.asked = []
        self._left = {text: list(output) for text, output in SPANISH.items()}
        self._is_busy = True

    def __call__(self, asked):
        if asked.path != "/v1/messages" or asked.headers.get("x-api-key") != KEY:
            return refusal(401, "authentication_error")
        if self._is_busy:
            self._is_busy = False
            return refusal(529, "overloaded_error", ("retry-after", "1"))
        material = json.loads(asked.body["messages"][0]["content"])
        self.asked.append(material)
        if "candidate" in material:
            return message(json.dumps({"adequacy": 95, "fluency": 90, "findings": []}), tokens=(5, 5))
        return message(json.dumps({"translation": self._left[material["text"]].pop(0)}), tokens=TOKENS)


@pytest.fixture(scope="module")
def letter(tmp_path_factory):
    """A letter that the clerk has translated, and what it was asked for."""
    folder, clerk = tmp_path_factory.mktemp("letter"), Clerk()
    (folder / "letter.md").write_text(LETTER)
    (folder / "terms.csv").write_text("house,casa\nMonday,lunes\n")
    (folder / "style.txt").write_text("Write as to a friend.")
    with EndpointServer(clerk) as server:
        model = f"anthropic:claude-x@{server.base}"
        words = ("--translator", model, "--reviewer", model, "--glossary", str(folder / "terms.csv"))
        style = ("--style", str(folder / "style.txt"))
        run = run_translate(folder / "letter.md", folder / "runs", *words, *style, *ALONE, LEASEHOLD_TRANSLATE_KEY=KEY)
        systems = [asked.body["system"] for asked in server.asked]
    return run, clerk.asked, systems


def test_a_model_behind_anthropics_interface_translates_a_document_to_its_end(letter):
    run, _, _ = letter
    assert (run.exit_code, run.states) == (0, ["approved"] * 3), run.output
    assert check_run(run.folder).problems == 0
    written = (run.folder / "final/letter.md").read_text(encoding="utf-8")
    assert written == "# Una carta\n\nLa casa *roja* tiene 12 ventanas.\n\n**No** vendremos el lunes.\n"


def test_a_model_that_lost_a_negation_gets_that_as_feedback_and_does_better(letter):
    _, asked, _ = letter
    first, again = [one for one in asked if one.get("text", "").startswith("We will")]
    assert "previous" not in first
    assert again["previous"] == "**Vendremos** el lunes."
    assert any("negation" in output.lower() or "denie" in output.lower() for output in again["findings"])


def test_the_prompt_for_a_model_has_neighbours_terms_and_style(letter):
    _, asked, systems = letter
    house = next(one for one in asked if one.get("text", "").startswith("The "))
    assert house["before"] == "A letter"
    assert house["after"] == "We will **not** come on Monday."
    assert house["glossary"] == {"house": "casa"}
    assert any("Write as to a friend." in system for system in systems)


def test_every_question_is_asked_once_and_its_tokens_are_kept(letter):
    """Three paragraphs and one rework; one was asked to come later, which costs none."""
    run, asked, _ = letter
    translations = [one for one in asked if "text" in one]
    assert len(translations) == 4
    assert len(asked) - len(translations) == 4
    assert tokens(run) == (4 * TOKENS[0], 4 * TOKENS[1])
    assert "<dt>tokens in</dt><dd>360</dd>" in run.report


def test_the_key_of_an_endpoint_is_in_no_file_of_a_run(letter):
    run, _, _ = letter
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    assert KEY not in run.output
