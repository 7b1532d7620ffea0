"""What the tour runs: small jobs, and a film made in three stages. Each attempt leaves a mark, then takes its time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from leasehold import Leasehold, Retry, Task
from leasehold.app.kinds import Kind, Pipeline
from leasehold.cli.tour.marks import leave_mark

# A task may be unlucky in several kills; only a task that runs out of attempts for another reason should fail the tour.
RETRY = Retry(attempts=50)


@dataclass(frozen=True, slots=True)
class Tour:
    """An app with the tour's kinds, on queues that no other tour on the same database serves."""

    app: Leasehold
    step: Kind
    film: Pipeline
    queues: tuple[str, str]


def make_tour(run: str, marks: str, url: str | None = None) -> Tour:
    """Make the app of one run of the tour; its attempts are noted in the file `marks`."""
    app = Leasehold(url)
    steps, films = f"tour.{run}.steps", f"tour.{run}.film"

    @app.job(name="tour.step", queue=steps, retry=RETRY)
    def step(task: Task, number: int, pause: float) -> dict[str, Any]:
        leave_mark(marks, task)
        time.sleep(pause)
        return {"square": number * number}

    film = app.pipeline("tour.film")

    @film.stage(queue=films, retry=RETRY)
    def script(task: Task, scenes: int, pause: float) -> dict[str, Any]:
        leave_mark(marks, task)
        time.sleep(pause)
        return {"scenes": [f"scene {number}" for number in range(scenes)]}

    @film.stage(after=script, each="scenes", queue=films, retry=RETRY)
    def audio(task: Task, scenes: int, pause: float) -> dict[str, Any]:
        leave_mark(marks, task)
        time.sleep(pause)
        return {"sound": f"the sound of {task.segment}, one of {scenes}"}

    @film.stage(after=audio, queue=films, retry=RETRY)
    def render(task: Task, scenes: int, pause: float) -> dict[str, Any]:
        leave_mark(marks, task)
        time.sleep(pause)
        return {"scenes": scenes, "sounds": len(task.inputs["audio"])}

    return Tour(app, step, film, (steps, films))
