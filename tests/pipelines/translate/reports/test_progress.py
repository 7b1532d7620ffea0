"""What a person sees meanwhile: on a terminal a bar for the whole and one for each state; elsewhere nothing."""

import os
import re

from tests.pipelines.translate.runs.test_stopped_runs import slow
from tests.pipelines.translate.workspace import DOOR, HOUSE, TABLE, Workspace
from tests.support.processes.terminal import Terminal
from tests.support.wait import until

WHOLE = "paragraphs "


def is_whole(picture):
    """Whether a picture shows how far the whole is, and how many paragraphs stand in which state."""
    first, *rest = picture.splitlines()
    return bool(re.search(r"━+ 2/3", first)) and any(re.search(r"approved +.*━+.* 2/3", line) for line in rest)


def test_a_terminal_shows_a_bar_for_the_whole_and_one_for_each_state(tmp_path):
    workspace, terminal = Workspace(tmp_path), Terminal()
    workspace.write(HOUSE, TABLE, DOOR)
    try:
        with slow(workspace, TABLE) as (_, go), workspace.process(terminal=terminal.theirs) as command:
            until(lambda: any(is_whole(picture) for picture in terminal.pictures(WHOLE)), timeout=120)
            go.set()
            assert command.end() == 0, command.log
    finally:
        terminal.close()


def test_where_there_is_no_terminal_nothing_is_drawn(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.write(HOUSE)
    ours, theirs = os.pipe()
    with workspace.process(terminal=theirs) as command:
        os.close(theirs)
        assert command.end() == 0, command.log
    with os.fdopen(ours, "rb") as pipe:
        assert pipe.read() == b""
