"""How long the task of a killed worker waits: all peers at once, for most of them do nothing but wait.

Two workers with the peer's own settings; a job that never ends starts on one of them; that one is killed with SIGKILL;
the time counts until the other starts the job. Then the same with a worker started in the place of the killed one.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from bench.beside import roles
from bench.beside.roles import Crew, Role, RoleFailed, Start, Worker
from bench.beside.workloads import Subject

UP_SECONDS = 30
BOTH_SECONDS = 6


@dataclass(slots=True)
class Patient:
    """A peer whose worker was killed, and when."""

    subject: Subject
    crew: Crew
    killed: int
    found: float | None = None


def recover(subjects: list[Subject], limit: float, *, replaced: bool = False) -> dict[str, float | str | None]:
    """Return seconds by peer, None where the limit passed, or why it could not be tried.

    `replaced`: the killed worker was alone, and another is started at once, as a supervisor would.
    """
    results: dict[str, float | str | None] = {}
    with ExitStack() as stack:
        patients = []
        for subject in subjects:
            try:
                patients.append((_kill_only if replaced else _kill_one)(subject, stack))
            except RoleFailed as failed:
                results[subject.peer.name] = str(failed)
            else:
                _watch(patients[-1], 3.0)
        deadline = time.monotonic() + limit
        while any(patient.found is None for patient in patients) and time.monotonic() < deadline:
            for patient in patients:
                _watch(patient, 0.02)
    return results | {patient.subject.peer.name: _within(patient.found, limit) for patient in patients}


def _within(seconds: float | None, limit: float) -> float | None:
    """Those killed first had longer than the limit; it holds for them too."""
    return seconds if seconds is not None and seconds <= limit else None


def _kill_one(subject: Subject, stack: ExitStack) -> Patient:
    place, client = stack.enter_context(subject.fresh())
    crew = stack.enter_context(roles.crew(subject.peer, place, 2, "default"))
    _await_both(client, crew)
    return Patient(subject, crew, _kill_holder(client, crew))


def _kill_only(subject: Subject, stack: ExitStack) -> Patient:
    place, client = stack.enter_context(subject.fresh())
    crew = stack.enter_context(roles.crew(subject.peer, place, 1, "default"))
    killed = _kill_holder(client, crew)
    other = stack.enter_context(Worker(subject.peer, place, "default", crew.started))
    other.answer()
    other.tell(go=True)
    return Patient(subject, crew, killed)


def _kill_holder(client: Role, crew: Crew) -> int:
    """Have a job started that never ends, kill its worker, and return when."""
    client.ask(do="single", kind="hold", count=1)
    held = _next(crew.started, "hold", UP_SECONDS)
    if held is None:
        raise RoleFailed("the job to be lost did not start")
    time.sleep(0.5)  # so that what a start writes, heartbeats included, is written
    held.worker.kill()
    return time.time_ns()


def _await_both(client: Role, crew: Crew) -> None:
    """Wait until each worker ran something, or one did and the other had its chance."""
    seen: set[int] = set()
    deadline = time.monotonic() + UP_SECONDS
    while len(seen) < len(crew.workers) and time.monotonic() < deadline:
        client.ask(do="single", kind="stamp", count=4)
        for _ in range(4):
            start = _next(crew.started, "stamp", UP_SECONDS)
            if start is None:
                raise RoleFailed("no worker came up")
            if not seen:
                deadline = min(deadline, time.monotonic() + BOTH_SECONDS)
            seen.add(id(start.worker))


def _next(started: SimpleQueue[Start], kind: str, seconds: float) -> Start | None:
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        try:
            start = started.get(timeout=left)
        except Empty:
            return None
        if start.kind == kind:
            return start
    return None


def _watch(patient: Patient, seconds: float) -> None:
    if patient.found is None:
        start = _next(patient.crew.started, "hold", seconds)
        if start is not None:
            patient.found = (start.at - patient.killed) / 1e9
