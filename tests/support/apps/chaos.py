"""The app that the workers of a storm serve. What its handlers and its provider do, they write into the witness.

A line stands for the act itself: an effect is a line of the file, and its look-up reads the lines. Whether the lease
still stood is asked of the tables afterwards, and noted in a second line, so that a process that was stopped in between
never claims to have held what it had lost.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import psycopg

from leasehold import Leasehold, Retry, Task, Transient
from leasehold.model.delivery import Absent, Message, Sent, Unknown
from leasehold.providers.folder import Folder
from tests.support.db import rows
from tests.support.oracle.evidence import Evidence, Facts
from tests.support.oracle.witness import Journal

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


def exit_if_asked() -> None:
    """End this process at once, with the code that the storm gave it: a worker that dies by itself."""
    if code := os.environ.get("STORM_EXIT"):
        sys.stderr.write(f"asked to end with {code}\n")
        sys.stderr.flush()
        os._exit(int(code))


class Outside:
    """The world outside the database, as one worker process sees it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.journal = Journal(folder / "witness")
        self._messages = Folder(folder / "letters")

    def watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Have a handler's call and its result witnessed."""

        @functools.wraps(function)
        def call(task: Task, number: int) -> Any:
            exit_if_asked()
            lease = task.lease
            self.journal.saw("began", lease.task_id, lease.fence, lease.queue, None)
            output = function(task, number)
            self.journal.saw("returned", lease.task_id, lease.fence, output)
            return output

        return call

    def act(self, task: Task, kind: str) -> Callable[[str], Any]:
        """Return an act; doing it is writing its line. What comes of it is another thing every time."""
        lease = task.lease

        def do(key: str) -> Any:
            line = ("acted", kind, key, lease.task_id, lease.fence)
            receipt = {"receipt": f"{key[:8]}-{lease.fence}"}
            self.journal.saw(*line, 0, receipt)
            standing = f"SELECT 1 FROM lease WHERE task_id = {lease.task_id} AND fence = {lease.fence}"  # noqa: S608
            if self._ask(standing):
                self.journal.saw(*line, 1, receipt)
            return receipt

        return do

    def lookup(self, task: Task) -> Callable[[str], Any]:
        """Return a look-up of what came of an act that was done."""
        lease = task.lease

        def look(key: str) -> Any:
            found = self._receipt(key.encode())
            self.journal.saw("looked", key, lease.task_id, lease.fence, found)
            return found

        return look

    def _receipt(self, key: bytes) -> Any:
        lines = self.journal.path.read_bytes() if self.journal.path.exists() else b""
        place = -1
        while (place := lines.find(key, place + 1)) >= 0:
            start, end = lines.rfind(b"\n", 0, place) + 1, lines.find(b"\n", place)
            if lines.startswith(b'["acted"', start):
                return json.loads(lines[start:end])[-1]
        return None

    def _ask(self, query: str) -> list[tuple[Any, ...]]:
        """Ask the tables; a database that does not answer counts as unknown."""
        try:
            return rows(self.url, query)
        except (apsw.Error, psycopg.Error):
            return []

    def _claim_of(self, message: Message) -> int | None:
        """Return the fence of the claim that stands on a message; None if none does."""
        which = f"subject = '{message.subject}' AND recipient = '{message.recipient}' AND version = {message.version}"
        found = self._ask(f"SELECT fence FROM delivery WHERE status = 'sending' AND {which}")  # noqa: S608
        return found[0][0] if found else None

    def send(self, message: Message) -> Sent:
        """Put a message into the folder, witnessed before and after.

        A provider does not know under which claim it is called, so the tables are asked before and after: it was sent
        under one that stood if that is the same. The relay has looked at its own clock right before.
        """
        claim = self._claim_of(message)
        line = ("sent", message.token, claim)
        self.journal.saw(*line, 0, f"{message.token}.json")
        sent = self._messages.send(message)
        if claim is not None and self._claim_of(message) == claim:
            self.journal.saw(*line, 1, sent.notification_id)
        return sent

    def find(self, message: Message, notification_id: str | None) -> Sent | Absent | Unknown:
        found = self._messages.find(message, notification_id)
        sent_as = found.notification_id if isinstance(found, Sent) else None
        self.journal.saw("traced", message.token, self._claim_of(message), sent_as)
        return found


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
        found = [task.effect(kind, outside.act(task, kind), lookup=outside.lookup(task)) for kind in ("ONE", "TWO")]
        toil()
        return found

    def again(task: Task, number: int) -> Any:
        return task.effect("AGAIN", outside.act(task, "AGAIN"), idempotent=True)

    def mail(task: Task, number: int) -> Any:
        post = (f"storm-{number}", "ada@example.org", 1)
        task.deliver(*post, {"number": number}, provider="folder")
        outside.journal.saw("posted", task.lease.task_id, task.lease.fence, *post)
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
        return task.effect("SPEAK", outside.act(task, "SPEAK"), lookup=outside.lookup(task))["receipt"]

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


def expected(evidence: Evidence, facts: Facts, fence: int) -> Any:
    """Return what a task that is DONE must have returned: a function of its payload, its effects and its inputs."""
    number = evidence.payload(facts).get("number")
    results = evidence.results[facts.job, facts.stage, facts.segment]
    match facts.stage or facts.kind:
        case "plain" | "narrow":
            return {"number": number, "by": fence}
        case "flaky":
            return number
        case "sure":
            return results
        case "again":
            return results[0] if results else "nothing on record"
        case "script":
            return {"scenes": list(range(SCENES))}
        case "audio":
            return results[0]["receipt"] if results else "nothing on record"
        case "render":
            return {"audio": evidence.parts(facts.job, "audio")}
    return None
