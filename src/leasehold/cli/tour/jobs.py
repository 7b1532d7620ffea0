"""What the tour runs: small jobs, and a film in three stages. Every attempt logs its start, then takes its time.

Worker processes serve `app` of this module, which is made from their environment.
"""

import os
import time
from dataclasses import dataclass
from typing import Any

from leasehold import Leasehold, Retry, Task
from leasehold.app.kinds import JobKind, Pipeline
from leasehold.cli.tour.evidence import log_start

# Several kills may hit the same task; only a task that fails for another reason should fail the tour.
RETRY = Retry(attempts=50)


@dataclass(frozen=True, slots=True)
class Tour:
    """An app with the tour's kinds, on queues that no other tour on the same database serves."""

    app: Leasehold
    step: JobKind
    film: Pipeline
    queues: tuple[str, str]


def make_tour(run: str, log: str, url: str | None = None) -> Tour:
    app = Leasehold(url)
    steps, films = f"tour.{run}.steps", f"tour.{run}.film"
    film = app.pipeline("tour.film")

    def begin(task: Task, pause: float) -> None:
        log_start(log, task)
        time.sleep(pause)

    @app.job(name="tour.step", queue=steps, retry=RETRY)
    def step(task: Task, number: int, pause: float) -> dict[str, Any]:
        begin(task, pause)
        return {"square": number * number}

    @film.stage(queue=films, retry=RETRY)
    def script(task: Task, scenes: int, pause: float) -> dict[str, Any]:
        begin(task, pause)
        return {"scenes": [f"scene {number}" for number in range(scenes)]}

    @film.stage(after="script", each="scenes", queue=films, retry=RETRY)
    def audio(task: Task, scenes: int, pause: float) -> dict[str, Any]:
        begin(task, pause)
        return {"sound": f"the sound of {task.segment}, one of {scenes}"}

    @film.stage(after="audio", queue=films, retry=RETRY)
    def render(task: Task, scenes: int, pause: float) -> dict[str, Any]:
        begin(task, pause)
        return {"scenes": scenes, "sounds": len(task.inputs["audio"])}

    return Tour(app, step, film, (steps, films))


def __getattr__(name: str) -> Leasehold:
    if name == "app":
        return make_tour(os.environ["LEASEHOLD_TOUR_RUN"], os.environ["LEASEHOLD_TOUR_LOG"]).app
    raise AttributeError(name)
