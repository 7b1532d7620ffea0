"""A document that changes between two runs: what is new is translated, and nothing else, wherever it stands."""

import pytest

from tests.pipelines.translate.workspace import (
    CHURCH,
    DOOR,
    HOUSE,
    SHY,
    STREET,
    TABLE,
    WINDOW,
    Workspace,
    answer_to,
    endpoint,
    requested_text,
    spanish,
    until_asked,
)
from tests.support.http.model_endpoint import Reply


class Writer:
    """Writes a document again, has it translated, and sees what was translated for that."""

    def __init__(self, workspace):
        self._desk = workspace
        self._count = 0

    def check_translated(self, *paragraphs, new=0):
        """See that so many paragraphs were translated now, and that the document is whole."""
        self._desk.write(*paragraphs)
        answer = self._desk.translate()
        assert answer.exit_code == 0, answer.output
        first = f"{len(paragraphs)} paragraphs, {f'{new} new' if new else 'nothing new'}"
        assert answer.stdout.splitlines()[0] == first
        self._count += new
        assert len(self._desk.answers()) == self._count
        assert self._desk.final() == [spanish(text) for text in paragraphs]
        indexes = [row["paragraph_index"] for row in self._desk.rows("final/candidate_map.jsonl")]
        assert indexes == list(range(1, len(paragraphs) + 1))


def test_a_changed_paragraph_alone_is_translated_again_wherever_it_and_the_others_go(workspace):
    writer = Writer(workspace)
    writer.check_translated(HOUSE, TABLE, DOOR, new=3)
    writer.check_translated(HOUSE, WINDOW, DOOR, new=1)  # changed
    writer.check_translated(STREET, HOUSE, CHURCH, WINDOW, DOOR, new=2)  # others come before it
    writer.check_translated(DOOR, CHURCH, WINDOW, HOUSE, STREET)  # moved
    writer.check_translated(DOOR, WINDOW)  # removed
    writer.check_translated(DOOR, TABLE, HOUSE, WINDOW)  # put back, also one that was changed before
    assert {answer["answer"]["text"] for answer in workspace.answers()} == {
        spanish(text) for text in (HOUSE, TABLE, DOOR, WINDOW, STREET, CHURCH)
    }


def test_a_paragraph_that_stands_twice_is_two_and_only_the_second_is_translated_when_it_comes(database, tmp_path):
    writer = Writer(Workspace(tmp_path, database))
    writer.check_translated(HOUSE, TABLE, new=2)
    writer.check_translated(HOUSE, TABLE, HOUSE, new=1)
    writer.check_translated(TABLE, HOUSE)
    writer.check_translated(HOUSE, HOUSE, TABLE)


def test_a_paragraph_removed_before_it_is_done_is_cancelled_and_one_that_returns_is_planned_again(workspace):
    """A paragraph that waits for its translator is taken out of the document, and later put back."""
    with endpoint(workspace, lambda asked: answer_to(requested_text(asked))) as server:
        away = Reply(status=503, headers=(("Retry-After", "300"),))
        server.script = lambda asked: away if requested_text(asked) == TABLE else answer_to(requested_text(asked))
        workspace.write(HOUSE, TABLE)
        with workspace.process() as command:
            until_asked(server, command, 2)
            command.system.terminate()
            assert command.end() == 143, command.log
        assert workspace.status() == ["approved", "ingested"]
        workspace.write(HOUSE)
        assert workspace.translate().stdout.splitlines()[0] == "1 paragraphs, 1 cancelled"
        assert [requested_text(asked) for asked in server.asked].count(TABLE) == 1
        server.script = lambda asked: answer_to(requested_text(asked))
        workspace.write(TABLE, HOUSE)
        answer = workspace.translate()
    assert (answer.exit_code, answer.stdout.splitlines()[0]) == (0, "2 paragraphs, 1 new")
    assert workspace.final() == [spanish(TABLE), spanish(HOUSE)]
    assert len(workspace.answers()) == 2


@pytest.mark.parametrize("back", [False, True])
def test_a_decision_stays_with_its_paragraph_when_others_come_and_go(workspace, back):
    workspace.write(HOUSE, SHY)
    workspace.translate()
    assert workspace.about("approve", "2", "--text", "Nada.", "--by", "Ana").exit_code == 0
    if back:
        workspace.write(HOUSE)
        assert workspace.translate().exit_code == 0
    workspace.write(SHY, HOUSE)
    answer = workspace.translate()
    assert (answer.exit_code, answer.stdout.splitlines()[0]) == (0, "2 paragraphs, nothing new")
    assert workspace.final() == ["Nada.", spanish(HOUSE)]


def test_a_document_of_one_paragraph_may_be_rewritten(workspace):
    writer = Writer(workspace)
    writer.check_translated(HOUSE, new=1)
    writer.check_translated(TABLE, new=1)
