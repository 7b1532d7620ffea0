"""The app that the workers of a storm serve. What its handlers and its provider do, they write into the witness.

A line stands for the act itself: an effect is the line that says so, and its look-up reads the lines. Whether the lease
still stood is asked of the tables afterwards, and told by a second line, so that a process that was stopped in between
never claims to have held what it had lost.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import psycopg

from leasehold import Leasehold, Retry, Task, Transient
from leasehold.model.delivery import Absent, Letter, Sent, Unknown
from leasehold.providers.folder import Folder
from tests.lab.witness import Journal
from tests.workshop.looking import rows

RETRY = Retry(attempts=200, delay_initial=0.02, delay_max=0.1)
TOIL_SECONDS = 0.02
SCENES = 3
NARROW = 2
# The kinds by turns: job number n is of kind n modulo their count.
TURNS = ("plain", "sure", "plain", "flaky", "film", "plain", "sure", "mail", "narrow", "again")


def work_of(number: int) -> tuple[str, dict[str, Any], str]:
    """Return kind, payload and key of a job: the same for the same number, in every process."""
    kind = TURNS[number % len(TURNS)]
    return kind, {"number": number}, f"{kind}-{number}"


def toil() -> None:
    """Take long enough that a fault finds it running."""
    threading.Event().wait(TOIL_SECONDS)


class Outside:
    """The world outside the database, as one worker process sees it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.journal = Journal(folder / "witness")
        self._letters = Folder(folder / "letters")

    def watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Have a handler's call and its result witnessed."""

        @functools.wraps(function)
        def call(task: Task, number: int) -> Any:
            lease = task.lease
            self.journal.saw("began", lease.task_id, lease.fence, lease.queue, None)
            output = function(task, number)
            self.journal.saw("returned", lease.task_id, lease.fence, output)
            return output

        return call

    def act(self, task: Task, kind: str) -> Callable[[str], Any]:
        """Return an act; doing it is writing its line."""
        lease = task.lease

        def do(key: str) -> Any:
            line = ("acted", kind, key, lease.task_id, lease.fence)
            self.journal.saw(*line, 0, {"receipt": key[:8]})
            if self._stands(lease.task_id, lease.fence):
                self.journal.saw(*line, 1, {"receipt": key[:8]})
            return {"receipt": key[:8]}

        return do

    def lookup(self, key: str) -> Any:
        """Tell whether an act was done."""
        found = self.journal.path.exists() and key.encode() in self.journal.path.read_bytes()
        return {"receipt": key[:8]} if found else None

    def _stands(self, task_id: int, fence: int) -> bool:
        query = f"SELECT 1 FROM lease WHERE task_id = {task_id} AND fence = {fence}"  # noqa: S608
        try:
            return bool(rows(self.url, query))
        except (apsw.Error, psycopg.Error):
            return False

    def send(self, letter: Letter) -> Sent:
        """Put a letter into the folder, witnessed before and after."""
        line = ("sent", letter.token, None)
        self.journal.saw(*line, 0, f"{letter.token}.json")
        sent = self._letters.send(letter)
        self.journal.saw(*line, 1, sent.notification_id)
        return sent

    def find(self, letter: Letter, notification_id: str | None) -> Sent | Absent | Unknown:
        return self._letters.find(letter, notification_id)


def make_app(url: str, folder: Path, lease: float = 30.0, direct: str | None = None) -> Leasehold:
    """Make the app of a storm on this database; its witness is in the folder. `direct`: how the tables are asked."""
    app = Leasehold(url)
    outside = Outside(direct or url, folder)
    app.deliveries.provider("folder", outside)
    _add_jobs(app, outside, lease)
    _add_film(app, outside, lease)
    return app


def _add_jobs(app: Leasehold, outside: Outside, lease: float) -> None:
    def plain(task: Task, number: int) -> Any:
        toil()
        return {"number": number, "by": task.lease.fence}

    def flaky(task: Task, number: int) -> Any:
        if task.attempt % 3:
            raise Transient("not yet")
        return number

    def sure(task: Task, number: int) -> Any:
        found = [task.effect(kind, outside.act(task, kind), lookup=outside.lookup) for kind in ("ONE", "TWO")]
        toil()
        return found

    def again(task: Task, number: int) -> Any:
        return task.effect("AGAIN", outside.act(task, "AGAIN"), idempotent=True)

    def mail(task: Task, number: int) -> Any:
        task.deliver(f"storm-{number}", "ada@example.org", 1, {"number": number}, provider="folder")
        return None

    for name, function in (("plain", plain), ("narrow", plain), ("flaky", flaky), ("sure", sure), ("again", again)):
        queue = "narrow" if name == "narrow" else "default"
        app.job(name=name, retry=RETRY, lease=lease, queue=queue)(outside.watched(function))
    app.job(name="mail", retry=RETRY, lease=lease)(outside.watched(mail))


def _add_film(app: Leasehold, outside: Outside, lease: float) -> None:
    film = app.pipeline("film")

    def script(task: Task, number: int) -> Any:
        return {"scenes": list(range(SCENES))}

    def audio(task: Task, number: int) -> Any:
        toil()
        return task.effect("SPEAK", outside.act(task, "SPEAK"), lookup=outside.lookup)["receipt"]

    def render(task: Task, number: int) -> Any:
        return {"audio": task.inputs["audio"]}

    film.stage(name="script", retry=RETRY, lease=lease)(outside.watched(script))
    film.stage(name="audio", after="script", each="scenes", retry=RETRY, lease=lease)(outside.watched(audio))
    film.stage(name="render", after="audio", retry=RETRY, lease=lease)(outside.watched(render))


def app_of_this_process() -> Leasehold:
    """Make the app from what the storm put into the environment."""
    lease = float(os.environ["STORM_LEASE"])
    folder = Path(os.environ["WORKSHOP_FOLDER"])
    return make_app(os.environ["LEASEHOLD_URL"], folder, lease, os.environ["STORM_DIRECT"])
