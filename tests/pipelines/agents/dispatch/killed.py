"""Coordinators that are killed with SIGKILL at each of their steps, each in a process of its own.

`python -m tests.pipelines.agents.dispatch.killed URL dispatch|recovery` prints a line of JSON for each step. A step is
a statement, a COMMIT that is about to be sent, or one that was just answered.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

from leasehold.pipelines.agents.child_dispatch import (
    Failed,
    Passed,
    cancel_child,
    finish_child,
    lease_child,
    start_child,
)
from leasehold.pipelines.agents.child_recovery import recover
from leasehold.pipelines.agents.errors import PhaseEventMismatch, ReplayOrderInvalid, SessionUnknown
from leasehold.pipelines.agents.records.records import AgentRecords, open_records
from leasehold.pipelines.agents.runtime_state import RuntimeState
from leasehold.pipelines.agents.verify import verify
from tests.pipelines.agents.dispatch.coordinators import TS, deterministic, opened, spawn, transcript

FAILED = Failed("exit_code", "URM_CHILD_FAILED")


class Numbered:
    """Ids that are the same in every session."""

    def child_id(self, parent_session_id: str, queue_seq: int) -> str:
        return f"{parent_session_id}-{queue_seq}"

    def worker_run_id(self, parent_session_id: str, dispatch_seq: int) -> str:
        return f"run-{dispatch_seq}"


class MortalBackend:
    """A backend whose process dies at its nth step."""

    def __init__(self, backend: Any, step: int) -> None:
        self._backend = backend
        self._left = step
        self.name = backend.name
        self.connect, self.script, self.explain = backend.connect, backend.script, backend.explain

    def _step(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def run(self, connection: Any, name: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        self._step()
        return self._backend.run(connection, name, values)

    @contextmanager
    def transaction(self, connection: Any, *, write: bool) -> Iterator[None]:
        with self._backend.transaction(connection, write=write):
            yield
            self._step()
        self._step()


def coordinator(records: AgentRecords, name: str, ts: str = TS) -> RuntimeState:
    return replace(deterministic(records, name, ts), ids=Numbered())


def dispatch(state: RuntimeState, session: str) -> None:
    """Bring children through every change that there is, two at a time."""
    opened(state, session)
    spawn(state, *(f"{session}-{name}" for name in "abcde"), session=session)
    first, second = lease_child(state, session), lease_child(state, session)
    assert first is not None
    assert second is not None
    first = start_child(state, first)
    cancel_child(state, second.child_id, f"cancel-{session}-b")
    finish_child(state, first, Passed())
    finish_child(state, second, FAILED)
    cancel_child(state, f"{session}-e", f"cancel-{session}-e")
    third = lease_child(state, session)
    assert third is not None
    start_child(state, third)


def in_process(url: str, step: int, work: Callable[[AgentRecords], object]) -> bool:
    """Run work in a process that dies at a step; return whether it did."""
    pid = os.fork()
    if pid:
        status = os.waitpid(pid, 0)[1]
        assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0, status
        return os.WIFSIGNALED(status)
    try:
        with closing(open_records(url)) as records:
            if step:
                records.backend = MortalBackend(records.backend, step)
            work(records)
        os._exit(0)
    finally:
        os._exit(1)


def killed_dispatches(url: str) -> Iterator[dict[str, Any]]:
    """Kill a coordinator at each step of its dispatches, and recover after each."""
    for step in count(1):
        session = f"s{step}"
        was_killed = in_process(url, step, lambda records: dispatch(coordinator(records, session), session))  # noqa: B023
        yield {"step": step, "was_killed": was_killed, **recovered(url, session, session)}
        if not was_killed:
            return


def killed_recoveries(url: str) -> Iterator[dict[str, Any]]:
    """Kill a recovery at each of its steps, and run another one at another time after each."""
    for step in count(1):
        session = f"s{step}"
        in_process(url, 0, lambda records: dispatch(coordinator(records, session), session))  # noqa: B023
        was_killed = in_process(url, step, lambda records: recover(coordinator(records, "other"), session.__eq__))  # noqa: B023
        yield {"step": step, "was_killed": was_killed, **recovered(url, session, session)}
        if not was_killed:
            return


def recovered(url: str, session: str, gone: str) -> dict[str, Any]:
    """Recover a session here, and return its transcript with another name for it."""
    with closing(open_records(url)) as records:
        recover(coordinator(records, "last"), gone.__eq__)
        try:
            verify(records, session)
            found = "sound"
        except SessionUnknown:
            found = "sound"  # it was killed before the session was there
        except (PhaseEventMismatch, ReplayOrderInvalid) as error:
            found = str(error.plain())
        text = transcript(records, session).replace(session, "S")
        phases = [json.loads(line)["phase"] for line in text.splitlines() if "scheduler_dispatch_token@1" in line]
        return {"verified": found, "transcript": text, "phases": phases}


def main(url: str, what: str) -> None:
    with closing(open_records(url)) as records:
        records.migrate()
    for found in {"dispatch": killed_dispatches, "recovery": killed_recoveries}[what](url):
        sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
