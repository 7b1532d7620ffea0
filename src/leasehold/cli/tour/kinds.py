"""What the tour runs: small jobs, and a film made in three stages. Each attempt leaves a mark, then takes its time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from leasehold import Leasehold, Retry, Task
from leasehold.app.kinds import JobKind, Pipeline
from leasehold.cli.tour.marks import leave_mark

# A task may be unlucky in several kills; only a task that runs out of attempts for another reason should fail the tour.
RETRY = Retry(attempts=50)


@dataclass(frozen=True, slots=True)
class Tour:
    """An app with the tour's kinds, on queues that no other tour on the same database serves."""

    app: Leasehold
    step: JobKind
    film: Pipeline
    queues: tuple[str, str]


class Acts:
    """The handlers. Each attempt is noted in the file `marks` when it begins."""

    def __init__(self, marks: str) -> None:
        self._marks = marks

    def step(self, task: Task, number: int, pause: float) -> dict[str, Any]:
        """Do a small job."""
        self._begin(task, pause)
        return {"square": number * number}

    def script(self, task: Task, scenes: int, pause: float) -> dict[str, Any]:
        """Write the film's script."""
        self._begin(task, pause)
        return {"scenes": [f"scene {number}" for number in range(scenes)]}

    def audio(self, task: Task, scenes: int, pause: float) -> dict[str, Any]:
        """Record the sound of one scene."""
        self._begin(task, pause)
        return {"sound": f"the sound of {task.segment}, one of {scenes}"}

    def render(self, task: Task, scenes: int, pause: float) -> dict[str, Any]:
        """Put everything together."""
        self._begin(task, pause)
        return {"scenes": scenes, "sounds": len(task.inputs["audio"])}

    def _begin(self, task: Task, pause: float) -> None:
        leave_mark(self._marks, task)
        time.sleep(pause)


def make_tour(run: str, marks: str, url: str | None = None) -> Tour:
    """Make the app of one run of the tour."""
    app, acts = Leasehold(url), Acts(marks)
    steps, films = f"tour.{run}.steps", f"tour.{run}.film"
    step = app.job(name="tour.step", queue=steps, retry=RETRY)(acts.step)
    film = app.pipeline("tour.film")
    film.stage(queue=films, retry=RETRY)(acts.script)
    film.stage(after="script", each="scenes", queue=films, retry=RETRY)(acts.audio)
    film.stage(after="audio", queue=films, retry=RETRY)(acts.render)
    return Tour(app, step, film, (steps, films))
