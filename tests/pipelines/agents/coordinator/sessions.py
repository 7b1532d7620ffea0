"""Sessions for tests: plans of a few lines, and runs of them in this process."""

import json
import sys
from contextlib import contextmanager
from pathlib import Path

from leasehold.pipelines.agents.coordinator.plan_run import PlanRun
from leasehold.pipelines.agents.coordinator.session import SessionRequest, start_session
from leasehold.pipelines.agents.place import open_place
from leasehold.pipelines.agents.plan import ChildBudget, read_plan
from leasehold.pipelines.agents.sessions import SessionTerms
from leasehold.pipelines.agents.specs import ChildSpec
from leasehold.processes import Stop
from tests.support.wait import until

PYTHON = (sys.executable, "-I", "-S", "-c")
TALKER = """
import json, sys
order = json.loads(sys.stdin.readline())
def send(**message):
    print(json.dumps(message), flush=True)
for tokens in order["input"].get("usage", []):
    send(type="usage", tokens=tokens)
granted = []
for number in range(order["input"].get("calls", 0)):
    send(type="solver_call", id=str(number))
    granted.append(json.loads(sys.stdin.readline())["granted"])
send(type="result", output={"granted": granted, "budget": order["budget"]})
"""
FOREVER = "import signal\nwhile True: signal.pause()"


def write_plan(folder: Path, *children: dict, **session) -> Path:
    """Write a plan; each child is a dict of the fields of its table."""
    lines = ["[session]", *(f"{name} = {toml(value)}" for name, value in {"id": "demo", **session}.items())]
    for child in children:
        lines += ["[[child]]", *(f"{name} = {toml(value)}" for name, value in child.items())]
    path = folder / "plan.toml"
    path.write_text("\n".join(lines))
    return path


def toml(value) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def talker(name: str, **given) -> dict:
    return {"name": name, "command": (*PYTHON, TALKER), "input": given}


def spec(name: str, *command: str, **given) -> ChildSpec:
    return ChildSpec(name, command, given.pop("folder", "/"), **given)


@contextmanager
def session(folder: Path, url: str, name: str = "demo", *, cap: int = 2, ts: str | None = None, **budget):
    """Coordinate a session in this process."""
    terms = SessionTerms(name, "locked" if cap <= 2 else "open", cap)
    request = SessionRequest(terms, ChildBudget(**budget), ts=ts)
    with open_place(folder, url) as place, start_session(place, request) as opened:
        yield opened


def run_plan(path: Path, url: str = "", *, again: bool = False):
    """Run a plan to its end in this process; return the rows of its children by name."""
    plan = read_plan(path)
    terms = SessionTerms(plan.session.id or "demo", plan.session.contract, plan.session.max_active_children)
    with open_place(path.parent, url) as place, start_session(place, SessionRequest(terms, plan.session.budget)) as run:
        plan_run = PlanRun(run, plan)
        if again:
            plan_run.spawn_lost()
        plan_run.run(Stop(), lambda _: None)
        snapshot = run.snapshot()
        run.leave()
    return {row.name: row for row in snapshot.rows}


def result(folder: Path, child_id: str):
    """Return the output of a child, from its file."""
    path = folder / ".leasehold" / "agents" / child_id.partition(".")[0] / "children" / child_id / "result.json"
    return json.loads(path.read_text())


def started(opened, *names: str) -> None:
    """Let the session's loop work until children of these names have started."""
    opened.start()
    until(lambda: {s.name for s in opened.children() if s.phase == "started"} >= set(names))
