"""What job data cannot do to a terminal, and tables that stay readable on any."""

import fcntl
import json
import os
import pty
import re
import struct
import termios
from contextlib import closing
from operator import itemgetter

import pytest

from leasehold import Leasehold, Permanent, Task
from leasehold.cli.table import GAP, Column, format_table
from leasehold.cli.text import display_width, printable, truncate
from leasehold.insight.wording import duration

HOSTILE = {
    "ESC": "\x1b[2J\x1b]0;title\x07",
    "CR": "\rfake line",
    "LF": "\nerror FAKE: a line that nobody wrote",
    "BEL": "\a",
    "backspace": "\b\b\b",
    "DEL": "\x7f",
    "C1": "\x9b31m\x90",
    "bidi override": "\u202eevil\u2066",
    "bidi mark": "\u200f\u061c",
    "line separator": "\u2028\u2029",
    "invisible": "\u200b\ufeff\U000e0041",
}


def is_harmless(output: str) -> bool:
    return all(one.isprintable() or one == "\n" for one in output)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_control_characters_are_shown_and_do_not_act(text):
    shown = printable(f"a{text}z")
    assert shown.isprintable()
    assert shown.startswith("a\\")
    assert shown.endswith("z")


def test_hostile_keys_payloads_results_and_failures_cannot_reach_the_terminal(url, command):
    hostile = "".join(HOSTILE.values())
    with closing(Leasehold(url)) as app:
        add_hostile_kinds(app, hostile)
        echoed = app.submit("echo", {"text": hostile}, key=f"key {hostile}")
        failed = app.submit("fail", {})
        cancelled = app.submit("echo", {"text": ""}, delay=60)
        app.cancel(cancelled, reason=hostile)
        app.cancel(app.submit("later", {}, delay=60))
        app.queues.pause("mail")
        app.drain(timeout=60)
    shown = [command("jobs"), *(command("show", job.id) for job in (echoed, failed, cancelled)), command("queues")]
    assert [result.exit_code for result in shown] == [0] * 5
    assert all(is_harmless(result.output) for result in shown)
    assert "\\x1b[2J" in shown[0].output
    assert len(shown[0].output.splitlines()) == 5


def add_hostile_kinds(app: Leasehold, hostile: str) -> None:
    @app.job
    def echo(task: Task, text: str):
        task.progress(1, 2, hostile)
        return {hostile: text}

    @app.job
    def fail():
        raise Permanent(hostile)

    @app.job
    def later():
        return None


def test_json_carries_hostile_data_whole_and_in_ascii(app, command):
    hostile = "".join(HOSTILE.values())
    job = app.submit("greet", {"name": hostile}, key=hostile)
    for result in (command("jobs", "--json"), command("show", job.id, "--json")):
        assert result.stdout.isascii()
        assert "\x1b" not in result.stdout
        answer = json.loads(result.stdout)
        found = answer[0] if isinstance(answer, list) else answer
        assert (found["key"], found["payload"]["name"]) == (hostile, hostile)


COLUMNS = (
    Column("ID", itemgetter(0), right=True),
    Column("KEY", itemgetter(1), rank=2, flexible=True),
    Column("WHEN", itemgetter(2), rank=3),
    Column("STATUS", itemgetter(3)),
)
ROWS = [[7, "a" * 60, "10 min ago", "READY"], [4711, "漢字" * 20, "1 s ago", "DONE"]]


def bare(lines: list[str]) -> list[str]:
    return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in lines]


@pytest.mark.parametrize("width", [200, 80, 60, 40, 24, 18, 12])
def test_a_table_never_breaks_a_row_however_narrow_the_terminal(width):
    lines = bare(format_table(COLUMNS, ROWS, width))
    assert len(lines) == 3
    assert all(display_width(line) <= width for line in lines)
    assert [line.split()[0] for line in lines] == ["ID", "7", "4711"]
    assert all(line.endswith(end) for line, end in zip(lines, ["STATUS", "READY", "DONE"], strict=True))


def test_a_table_that_goes_to_a_file_is_whole_and_aligned():
    lines = bare(format_table(COLUMNS, ROWS, None))
    assert "a" * 60 in lines[1]
    assert "漢字" * 20 in lines[2]
    starts = {
        display_width(line[: line.rindex(word)]) for line, word in zip(lines, ["STATUS", "READY", "DONE"], strict=True)
    }
    assert len(starts) == 1
    assert lines[0].startswith("  ID" + GAP + "KEY")


def test_a_cut_text_never_takes_more_room_than_there_is():
    assert [truncate("漢字漢字", width) for width in (8, 7, 4, 1, 0)] == ["漢字漢字", "漢字漢…", "漢…", "…", ""]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.25, "0.25 s"), (14.4, "14 s"), (185, "3 min 5 s"), (7800, "2 h 10 min"), (360_000, "4 d 4 h"), (-3, "-3 s")],
)
def test_a_span_of_time_is_printed_in_two_units_at_most(seconds, words):
    assert duration(seconds) == words


def test_a_real_terminal_gets_lines_that_fit_it(app, processes):
    app.submit("greet", {"name": "x"}, key="k" * 300)
    lines = terminal_lines(processes, "jobs", columns=50)
    assert len(lines) == 2
    assert all(display_width(line) <= 50 for line in lines)
    assert "…" in lines[1]


def terminal_lines(processes, *words: str, columns: int) -> list[str]:
    """Run the command on a terminal of its own and return what it wrote there, without colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    processes.environment.pop("COLUMNS", None)
    process = processes.start(*words, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b"".join(iter(lambda: read_terminal(ours), b""))
    os.close(ours)
    assert process.end() == 0
    return bare(written.decode().replace("\r\n", "\n").splitlines())


def read_terminal(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux raises this when nobody is left at the other end
        return b""


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_tour_on_a_real_terminal_draws_a_bar_and_ends_with_its_table(processes):
    lines = terminal_lines(processes, "tour", "--jobs", "10", columns=100)
    assert any("10/10 jobs, film: done, 0 kills" in line for line in lines)
    assert lines[-1] == "Nothing was lost and nothing was settled twice; both sources agree."
