"""What the tour runs: small jobs, and a film in three stages. Every attempt logs its start, then takes its time.

Worker processes serve `app` of this module, which is made from their environment.
"""

import os
import time
from typing import Any

from leasehold import Leasehold, Retry, Task
from leasehold.cli.tour.evidence import log_start

# Several kills may hit the same task; only a task that fails for another reason should fail the tour.
RETRY = Retry(attempts=50)


def queues_of(run: str) -> tuple[str, str]:
    """Return the queues of steps and of films, which no other tour on the same database serves."""
    return f"tour.{run}.steps", f"tour.{run}.film"


def make_app(run: str, log: str, url: str | None = None) -> Leasehold:
    app = Leasehold(url)
    steps, films = queues_of(run)
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

    return app


def __getattr__(name: str) -> Leasehold:
    if name == "app":
        return make_app(os.environ["LEASEHOLD_TOUR_RUN"], os.environ["LEASEHOLD_TOUR_LOG"])
    raise AttributeError(name)
