"""How long the task of a killed worker waits: all peers at once, for most of them do nothing but wait.

Two workers with the peer's own settings; a job that never ends starts on one of them; that one is killed with SIGKILL;
the time counts until the other starts the job. And the same with a worker started in the place of the killed one. All
workers are started together, and killed one after the other when none of them starts any more.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from bench.compare import roles
from bench.compare.place import Place
from bench.compare.roles import Role, RoleFailed, Start, Worker, WorkerGroup
from bench.compare.workloads import Subject

UP_SECONDS = 30
BOTH_SECONDS = 6
ALONE_SECONDS = 1.5
STARTING_AT_ONCE = 3

# Seconds, None where the limit passed, or why it could not be tried.
Outcome = float | Exception | None


@dataclass(frozen=True, slots=True)
class Case:
    """One peer. `is_replaced`: its worker is alone, and another is started when it is killed, as a supervisor would."""

    subject: Subject
    is_replaced: bool


@dataclass(slots=True)
class Patient:
    """A peer whose worker is to be killed, when it was, and how long its job waited."""

    case: Case
    place: Place
    client: Role
    group: WorkerGroup
    killed: int = 0
    found: float | None = None


def recover(cases: list[Case], limit: float) -> list[Outcome]:
    """Return what became of each."""
    with ExitStack() as stack:
        made = _prepare(cases, stack)
        for number, patient in enumerate(made):
            if isinstance(patient, Patient):
                made[number] = _kill(patient, stack)
        patients = [patient for patient in made if isinstance(patient, Patient)]
        deadline = time.monotonic() + limit
        while any(patient.found is None for patient in patients) and time.monotonic() < deadline:
            for patient in patients:
                _watch(patient, 0.02)
    return [_within(patient.found, limit) if isinstance(patient, Patient) else patient for patient in made]


def _within(seconds: float | None, limit: float) -> float | None:
    """Those killed first had longer than the limit; it holds for them too."""
    return seconds if seconds is not None and seconds <= limit else None


def _prepare(cases: list[Case], stack: ExitStack) -> list[Patient | Exception]:
    """Start everybody's workers; each that is up has run something."""
    stacks = [stack.enter_context(ExitStack()) for _ in cases]
    with ThreadPoolExecutor(STARTING_AT_ONCE) as pool:
        return list(pool.map(_start, cases, stacks))


def _start(case: Case, stack: ExitStack) -> Patient | Exception:
    try:
        place, client = stack.enter_context(case.subject.fresh())
        processes = 1 if case.is_replaced else 2
        group = stack.enter_context(roles.start_workers(case.subject.peer, place, processes, "default"))
        _await_both(client, group)
    except Exception as failure:  # noqa: BLE001 - however a peer fails, it is a finding and not the end of the run
        return failure
    return Patient(case, place, client, group)


def _kill(patient: Patient, stack: ExitStack) -> Patient | Exception:
    try:
        patient.killed = _kill_holder(patient.client, patient.group)
        if patient.case.is_replaced:
            peer = patient.case.subject.peer
            other = stack.enter_context(Worker(peer, patient.place, "default", patient.group.started))
            other.answer()
            other.send(go=0)
        _watch(patient, ALONE_SECONDS)
    except Exception as failure:  # noqa: BLE001 - as above
        return failure
    return patient


def _kill_holder(client: Role, group: WorkerGroup) -> int:
    """Have a job started that never ends, kill its worker, and return when."""
    client.ask(do="single", kind="hold", count=1)
    held = _next(group.started, "hold", UP_SECONDS)
    if held is None:
        raise RoleFailed("the job to be lost did not start")
    time.sleep(0.5)  # so that what a start writes, heartbeats included, is written
    held.worker.kill()
    return time.time_ns()


def _await_both(client: Role, group: WorkerGroup) -> None:
    """Wait until each worker ran something, or one did and the other had its chance."""
    seen: set[int] = set()
    deadline = time.monotonic() + UP_SECONDS
    while len(seen) < len(group.workers) and time.monotonic() < deadline:
        client.ask(do="single", kind="stamp", count=4)
        for _ in range(4):
            start = _next(group.started, "stamp", UP_SECONDS)
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
        start = _next(patient.group.started, "hold", seconds)
        if start is not None:
            patient.found = (start.at - patient.killed) / 1e9
