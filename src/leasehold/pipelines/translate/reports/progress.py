"""The live display of a run: a bar for all paragraphs, and one for each state."""

from rich.console import Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.run_loop import RunSnapshot

SHOWN = tuple(state for state in states.STATES if state != states.INGESTED)


class TranslateRenderer:
    def __init__(self) -> None:
        columns = (TextColumn("{task.description:>16}"), BarColumn(), MofNCompleteColumn())
        self._total = Progress(*columns, TimeRemainingColumn())
        self._states = Progress(*columns)
        self._all = self._total.add_task("paragraphs", total=None)
        self._bars = {state: self._states.add_task(state, total=None, visible=False) for state in SHOWN}

    def __call__(self, snapshot: RunSnapshot) -> Group:
        self._total.update(self._all, total=snapshot.total, completed=snapshot.total - snapshot.left)
        for state, bar in self._bars.items():
            count = snapshot.counts.get(state, 0)
            self._states.update(bar, total=snapshot.total, completed=count, visible=count > 0)
        return Group(self._total, self._states)
