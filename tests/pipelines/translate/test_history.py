"""A paragraph that changes while its history is read is shown as it was at one moment."""

import json
from contextlib import closing
from dataclasses import replace

import pytest

from leasehold.pipelines import translate
from leasehold.pipelines.translate.export import Writer, makers
from leasehold.pipelines.translate.folder import RunFolder
from leasehold.pipelines.translate.history import history_of, planned_paragraphs
from leasehold.pipelines.translate.paragraphs import keys_of
from leasehold.pipelines.translate.settings import RunSettings
from leasehold.pipelines.translate.toolchain import Toolchain

WORDS = {"words": {"the": "la", "house": "casa", "is": "es", "not": "", "red": "roja"}, "again": {"not": "no"}}


@pytest.fixture
def reworked(tmp_path):
    """A paragraph that lost its negation at first and was approved in its second pass: its run, and where it stands."""
    (tmp_path / "words.json").write_text(json.dumps(WORDS))
    (tmp_path / "note.txt").write_text("The house is not red.\n")
    options = translate.TranslateOptions(translator=f"dictionary:{tmp_path / 'words.json'}", back_translator="")
    result = translate.run(tmp_path / "note.txt", "en", "es", out=tmp_path / "runs", options=options)
    assert [tried.state for tried in result.histories[0].tries] == ["rework_required", "approved"]
    with closing(Toolchain(RunSettings.read(result.folder))) as toolchain:
        (paragraph,) = RunFolder(result.folder).document().paragraphs
        identity = toolchain.settings.identity
        (key,) = keys_of(identity.run_id, identity.document_id, [paragraph])
        yield toolchain, paragraph, planned_paragraphs(toolchain)[key]


@pytest.mark.parametrize("seen", ["ingested", "translated_pass1", "rework_required", "translated_pass2", "approved"])
def test_a_paragraph_that_was_seen_in_an_earlier_state_is_shown_as_its_tries_ended(reworked, seen):
    """Files are written while workers go on. A place is looked up first; its job may end before it is read."""
    toolchain, paragraph, planned = reworked
    history = history_of(toolchain, paragraph, replace(planned, state=seen))
    assert history.state == history.tries[-1].state == "approved"
    writer = Writer(toolchain.settings)
    lines = {
        name: writer.lines(f"{name}_row", [history], make).count(b"\n")
        for name, make in makers(toolchain.settings).items()
    }
    assert (lines["rework_queue"], lines["candidate_map"]) == (0, 1)
