"""Coordinators that are killed with SIGKILL at one step of a session, each followed by a run that goes on.

`python -m tests.pipelines.agents.coordinator.killed_sessions FOLDER URL STEP…` prints a line of JSON for each step. A
step is a statement of the records (`token/lease`: before it, `token/lease+`: after its COMMIT), or a call (`hold`,
`spend`); `a>b` kills the coordinator at `a`, and the one that goes on at `b`.
"""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from leasehold import Held
from leasehold.app.manual import ManualLeases
from leasehold.pipelines.agents.child_budget import ChildAccount
from leasehold.pipelines.agents.coordinator import session as sessions
from leasehold.pipelines.agents.coordinator.engine_jobs import find_session_job
from leasehold.pipelines.agents.coordinator.plan_run import PlanRun
from leasehold.pipelines.agents.place import AgentsPlace, open_place
from leasehold.pipelines.agents.plan import read_plan
from leasehold.pipelines.agents.sessions import SessionTerms
from leasehold.pipelines.agents.verify import verify
from leasehold.processes import Stop
from tests.pipelines.agents.child.children import DAEMON, is_alive
from tests.pipelines.agents.coordinator.sessions import PYTHON, write_plan
from tests.support.wait import until

# Leaves its session twice, writes its number to a file, spends, and waits for the file of its own process.
CHILD = f"""{DAEMON}
import json
leave(1, sys.argv[1] + "/" + str(os.getpid()))
print(json.dumps({{"type": "usage", "tokens": 5}}), flush=True)
while not os.path.exists(sys.argv[1] + "/" + str(os.getpid())): pass
"""
TOKENS = 5


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class MortalBackend:
    """A backend whose process dies at a statement, or after the COMMIT of its transaction."""

    def __init__(self, backend: Any, step: str) -> None:
        self._backend = backend
        self._statement = step.removesuffix("+")
        self._is_late = step.endswith("+")
        self._has_run = False
        self.name = backend.name
        self.connect, self.script, self.explain = backend.connect, backend.script, backend.explain

    def run(self, connection: Any, name: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        if name == self._statement and not self._is_late:
            die()
        self._has_run |= name == self._statement
        return self._backend.run(connection, name, values)

    @contextmanager
    def transaction(self, connection: Any, *, write: bool) -> Iterator[None]:
        with self._backend.transaction(connection, write=write):
            yield
        if self._has_run:
            die()


def plan_of(folder: Path, session: str) -> Path:
    pids = folder / session
    pids.mkdir()
    child = {"command": (*PYTHON, CHILD, str(pids))}
    named = [{"name": name, **child} for name in ("a", "b")]
    return write_plan(folder, *named, {"name": "c", "after": ["a", "b"], **child}, id=session, budget={"tokens": 1_000})


def run(place: AgentsPlace, path: Path, *, again: bool, cancel: bool = False) -> list[str]:
    """Run a plan; with `cancel`, its first child is cancelled when it is spawned. Return how its children ended."""
    plan = read_plan(path)
    assert plan.session.id is not None
    request = sessions.SessionRequest(SessionTerms(plan.session.id), plan.session.budget)
    with sessions.start_session(place, request) as opened:
        work = PlanRun(opened, plan)
        if again:
            work.spawn_lost()
        if cancel:
            work.advance()
            opened.coordinator.step()
            opened.cancel(f"{plan.session.id}.a", f"cancel-{plan.session.id}")
        work.run(Stop(), lambda _: None)
        ends = [f"{state.name} {state.code or 'passed'}" for state in opened.children()]
        opened.leave()
    return ends


def arm(place: AgentsPlace, step: str) -> None:
    """Have this process die at a step."""
    match step:
        case "hold":
            hold, count = ManualLeases.hold, iter(range(10))

            def mortal_hold(*given: Any, **named: Any) -> Held:
                if next(count):  # the first is the session's own
                    die()
                return hold(*given, **named)

            ManualLeases.hold = mortal_hold  # type: ignore[method-assign]
        case "spend":
            debit = ChildAccount.debit

            def mortal_debit(*given: Any) -> bool:
                is_accepted = debit(*given)
                die()
                return is_accepted

            ChildAccount.debit = mortal_debit  # type: ignore[assignment,method-assign]
        case _:
            place.records.backend = MortalBackend(place.records.backend, step)


def in_process(work: Callable[[], object]) -> bool:
    """Run work in a forked process; return whether it was killed."""
    pid = os.fork()
    if pid:
        status = os.waitpid(pid, 0)[1]
        assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0, status
        return os.WIFSIGNALED(status)
    try:
        work()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(1)


def killed(folder: Path, url: str, step: str, session: str) -> dict[str, Any]:
    """Kill a coordinator at a step, look for survivors, and go on."""
    path = plan_of(folder, session)

    def mortal(at: str, *, again: bool) -> None:
        with open_place(folder, url) as place:
            arm(place, at)
            run(place, path, again=again, cancel="cancel" in at)

    was_killed = [in_process(partial(mortal, at, again=number > 0)) for number, at in enumerate(step.split(">"))]
    pids = [int(file.name) for file in (folder / session).iterdir()]
    until(lambda: not any(map(is_alive, pids)))
    found: dict[str, Any] = {"step": step, "was_killed": all(was_killed)}

    def go_on() -> None:
        with open_place(folder, url) as place:
            ends = run(place, path, again=True)
            job = find_session_job(place.app, session)
            assert job is not None
            open_jobs = [one.key for status in ("READY", "RUNNING") for one in place.app.jobs(status=status)]
            spent = job.budget["tokens"].spent
            checked = verify(place.records, session)
            report = {"ends": ends, "status": job.status, "open": open_jobs, "spent": spent, "verified": checked}
            (folder / f"{session}.json").write_text(json.dumps(report))

    assert not in_process(go_on)
    return found | json.loads((folder / f"{session}.json").read_text())


def main(folder: str, url: str, *steps: str) -> None:
    for number, step in enumerate(steps):
        sys.stdout.write(f"{json.dumps(killed(Path(folder), url, step, f's{number}'))}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
