"""The board in the terminal while a session runs: budgets, counts, and the children that one wants to see.

Children that run come first, then those that ended badly, then those that wait; what has no room is counted. Whatever a
child printed is one line of plain text here: no markup, no escape acts on the terminal.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from leasehold.pipelines.agents.child_budget import BudgetLane, LaneTotal
from leasehold.pipelines.agents.coordinator.snapshot import ChildRow, SessionSnapshot
from leasehold.pipelines.agents.view.board_rows import chosen_rows, counts_of, end_words, status_of
from leasehold.pipelines.agents.view.values import LANES, ChildStatus
from leasehold.pipelines.agents.view.words import SHOWN_FIRST, TONES, lane_words
from leasehold.pipelines.shell.html.page import SIGNS, Tone
from leasehold.pipelines.shell.text import one_line

COLOURS: Final = {Tone.GOOD: "green", Tone.BAD: "red", Tone.WARN: "yellow", Tone.BUSY: "cyan", Tone.IDLE: "dim"}
NAME_SHARE: Final = 4  # a name takes at most a quarter of the width
NAME_MAX: Final = 32
BAR_WIDTH: Final = 24
HEADING_LINES: Final = 5  # title, counts, a blank line, heads, what has no room
ROWS_MIN: Final = 2


class Board:
    """Draws one snapshot, in the width and height that there are."""

    def __init__(self, session: SessionSnapshot, seconds: float) -> None:
        self._session = session
        self._seconds = seconds

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts of the board."""
        width = options.max_width
        counts = counts_of(self._session)
        yield self._title(width)
        yield _counts_line(counts)
        yield _lanes(self._session.lanes, width)
        room = max(ROWS_MIN, console.size.height - HEADING_LINES - len(self._session.lanes) - 1)
        shown = chosen_rows(self._session.rows, room)
        if shown:
            yield ""
            yield _children(shown, width)
        if hidden := _hidden(shown, counts):
            yield Text(hidden, style="dim", overflow="ellipsis", no_wrap=True)

    def _title(self, width: int) -> Text:
        minutes, seconds = divmod(int(self._seconds), 60)
        clock = f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
        name = one_line(self._session.parent_session_id, width - len(clock) - 2)
        return Text.assemble((name, "bold"), "  ", (clock, "dim"))


def make_board() -> Callable[[SessionSnapshot], Board]:
    """Return what draws snapshots; the clock of the board starts now."""
    began = time.monotonic()
    return lambda session: Board(session, time.monotonic() - began)


def _counts_line(counts: Counter[ChildStatus]) -> Text:
    shown = [one for one in SHOWN_FIRST[::-1] if counts[one]]
    parts = [Text(f"{counts[one]:,} {one.value}", style=COLOURS[TONES[one]]) for one in shown]
    return Text("  ", no_wrap=True, overflow="ellipsis").join(parts) if parts else Text("no children yet", style="dim")


def _lanes(lanes: Mapping[BudgetLane, LaneTotal], width: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(no_wrap=True, overflow="ellipsis")
    for name in filter(lanes.__contains__, map(BudgetLane, LANES)):
        lane = lanes[name]
        bar = "" if lane.limit is None else _bar(lane.limit, lane.spent, min(BAR_WIDTH, width // 4))
        of = "" if lane.limit is None else f" of {lane.limit:,}, {lane.limit - lane.spent:,} left"
        table.add_row(Text(lane_words(name), style="dim"), bar, Text(f"{lane.spent:,}{of}"))
    return table


def _bar(limit: int, spent: int, width: int) -> ProgressBar:
    style = "red" if spent >= limit else "cyan"
    return ProgressBar(
        total=max(1, limit), completed=min(spent, limit), width=width, complete_style=style, finished_style=style
    )


def _children(rows: Iterable[ChildRow], width: int) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), expand=True, header_style="dim", pad_edge=False)
    name_width = min(NAME_MAX, width // NAME_SHARE)
    table.add_column("child", no_wrap=True, max_width=name_width, overflow="ellipsis")
    table.add_column("phase", no_wrap=True)
    for name in ("tokens", "calls", "secs"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("last line", no_wrap=True, ratio=1, overflow="ellipsis")
    for row in rows:
        table.add_row(*_cells(row, name_width, width))
    return table


def _cells(row: ChildRow, name_width: int, width: int) -> Iterator[Text]:
    status = status_of(row)
    colour = COLOURS[TONES[status]]
    yield Text.assemble((f"{SIGNS[TONES[status]]} ", colour), one_line(row.name, name_width - 2))
    yield Text(
        "cancelling" if row.is_cancelled and status is ChildStatus.RUNNING else _phase(row, status), style=colour
    )
    for number in (row.tokens, row.solver_calls, row.seconds):
        yield Text(f"{number:,}" if number else "·", style="" if number else "dim")
    yield Text(one_line(end_words(row) or row.line, width), style=colour if row.code else "")


def _phase(row: ChildRow, status: ChildStatus) -> str:
    return row.phase.value if status in (ChildStatus.RUNNING, ChildStatus.WAITING) else status.value


def _hidden(shown: Iterable[ChildRow], counts: Counter[ChildStatus]) -> str:
    more = counts - Counter(map(status_of, shown))
    parts = ", ".join(f"{more[one]:,} {one.value}" for one in SHOWN_FIRST if more[one])
    return f"and {parts}" if parts else ""
