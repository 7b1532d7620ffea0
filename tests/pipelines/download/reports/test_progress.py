"""What a person sees meanwhile: on a terminal a bar, the largest files and counts; where there is none, nothing."""

import os
import random
import re

import pytest

from leasehold.pipelines.download.run_loop import SHOWN_MAX
from tests.pipelines.download.command_process import download_command
from tests.support.processes.terminal import Terminal
from tests.support.wait import until

SIZES = [150_000 + 50_000 * number for number in range(SHOWN_MAX)]
SMALL = ["small-0.pdf", "small-1.pdf"]
ENDING = f"{len(SIZES) + len(SMALL) + 1} downloaded.\n"


@pytest.fixture
def lines(server):
    """Large files that stall, two smaller ones of which bytes keep coming, and one that is soon here."""
    dice = random.Random(17)
    found = [
        server.add(f"/large-{number}.pdf", dice.randbytes(size), stall_after=[65_536])
        for number, size in enumerate(SIZES)
    ]
    found += [server.add(f"/{name}", dice.randbytes(140_000), crumbs=20) for name in SMALL]
    return [*found, server.add("/soon.pdf", b"soon")]


def is_whole(picture):
    """Whether a picture shows the whole, how fast it goes and how long it takes, the largest files, and counts."""
    first, *rest = picture.splitlines()
    files = [f"of{size / 1_000:8.1f} kB  large-{number}.pdf" for number, size in enumerate(SIZES)]
    named = [line for line in rest if ".pdf" in line]
    return (
        re.search(r"━+ 1/8 +[0-9.]+ k?B/s, [0-9]+:[0-9]{2}:[0-9]{2} left", first) is not None
        and [wanted in line for wanted, line in zip(reversed(files), named, strict=False)] == [True] * SHOWN_MAX
        and len(named) == SHOWN_MAX
        and f"  {len(SIZES) + len(SMALL)} downloading, 1 downloaded" in [line.rstrip() for line in rest]
    )


def test_a_terminal_shows_the_whole_with_its_pace_the_largest_files_and_counts(folder, server, lines):
    terminal = Terminal()
    try:
        with download_command(folder, lines, "--per-host", "20", terminal=terminal.theirs) as command:
            until(lambda: any(is_whole(picture) for picture in terminal.pictures("files ")), timeout=120)
            server.released.set()
            assert (command.end(), command.log) == (0, ENDING)
    finally:
        terminal.close()


def test_where_there_is_no_terminal_nothing_is_drawn(folder, server, lines):
    ours, theirs = os.pipe()
    with download_command(folder, lines, "--per-host", "20", terminal=theirs) as command:
        os.close(theirs)
        until(lambda: len(server.stalled) == len(SIZES), timeout=120)
        server.released.set()
        assert (command.end(), command.log) == (0, ENDING)
    with os.fdopen(ours, "rb") as pipe:
        assert pipe.read() == b""
