"""The board and the lines of a run: what one wants to see first, in any width, harmless whatever children print."""

import io
import re

import pytest
from rich.console import Console

from leasehold.pipelines.agents.view.board import Board
from leasehold.pipelines.agents.view.board_lines import make_lines
from leasehold.pipelines.shell.run_loop import live_display
from tests.pipelines.agents.view.sessions import NASTY, rows, snapshot


def drawn(session, width=80, height=24):
    file = io.StringIO()
    Console(file=file, width=width, height=height, force_terminal=True, color_system=None).print(Board(session, 61))
    return file.getvalue().splitlines()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (160, 40), (40, 10)])
def test_a_board_of_500_children_fits_and_shows_those_that_run_first_and_counts_the_rest(width, height):
    lines = drawn(
        snapshot(*rows(waiting=300, running=2, passed=190, failed=8, text="c"), waiting=("later",)), width, height
    )
    assert len(lines) < height
    assert max(map(len, lines)) <= width
    heads = next(number for number, line in enumerate(lines) if line.startswith("child"))
    assert [re.findall(r"c-\d+", line) for line in lines[heads + 1 : heads + 3]] == [["c-198"], ["c-199"]]
    assert lines[1].startswith("190 passed  301 waiting  2 running")
    shown = len(lines) - heads - 2
    hidden = sum(int(number) for number in re.findall(r"\d+", lines[-1]))
    assert hidden + shown == 501


def test_what_children_print_is_one_line_of_plain_text_on_the_board_and_in_lines():
    session = snapshot(*rows(running=2, failed=2, text=f"{NASTY}\nsecond 漢字"))
    lines = drawn(session, 160)
    text = "".join(lines)
    assert "\\x1b[2J" in text
    assert "[bold]b" in text
    printed = list(make_lines()(session))
    assert len(printed) == 8  # each has started or ended, and has printed a line
    assert all(line.isprintable() for line in (*lines, *printed))


def test_a_run_without_a_terminal_prints_a_line_for_each_change_and_none_for_none(capsys):
    with live_display(lambda: pytest.fail("there is no terminal to draw on"), make_lines) as show:
        show(snapshot(*rows(waiting=2)))
        for _ in range(2):
            show(snapshot(*rows(passed=1, running=1)))
        show(snapshot(*rows(passed=1, failed=1)))
    assert capsys.readouterr().err.splitlines() == [
        "waiting      child-0: child",
        "waiting      child-1: child",
        "passed       child-0  1 call, 2 seconds",
        "running      child-1  1 token, 1 call, 2 seconds",
        "failed       child-1  1 token, 1 call, 2 seconds  child (URM_CHILD_FAILED)",
    ]
