"""Live runs of one session: their order may differ; the set of events, each child's life, its end and totals may not.

The reports on events are tried on the records of these runs too.
"""

import json

from click.testing import CliRunner

from leasehold.cli.root import root
from leasehold.pipelines.agents.child_budget import BudgetLane, read_totals
from leasehold.pipelines.agents.event_files import EventFiles, lines_of
from leasehold.pipelines.agents.place import open_place
from leasehold.pipelines.agents.tokens import export_tokens
from leasehold.pipelines.agents.verify import verify
from tests.pipelines.agents.coordinator.sessions import FOREVER, PYTHON, TALKER, session, spec, started

CHILDREN = {
    "talks": ((*PYTHON, TALKER), {"usage": [10, 20], "calls": 2}),
    "greedy": ((*PYTHON, TALKER), {"usage": [1_000]}),
    "fails": ((*PYTHON, "raise SystemExit(3)"), {}),
    "endless": ((*PYTHON, FOREVER), {}),
    "waits": (("true",), {}),
}


def run_live(folder, url, name):
    """Run the session to its end; one child is cancelled while it runs, one while it waits."""
    with session(folder, url, name, tokens=100, solver_calls=10) as opened:
        for child, (command, given) in CHILDREN.items():
            opened.spawn(spec(child, *command, input=given), f"{name}-{child}", child_id=f"{name}.{child}")
        opened.cancel(f"{name}.waits", f"{name}-cancel-waits")
        started(opened, "endless")
        opened.cancel(f"{name}.endless", f"{name}-cancel-endless")
        opened.wait_idle()
        opened.leave()


def observed(place, name):
    """Return what must be the same in every run: events as a set, each child's events in order, ends, totals."""
    events = [json.loads(line.replace(name, "NAME")) for line in lines_of(place.records, name)]
    workers = [event for event in events if event["event"].startswith("WORKER_")]
    lives: dict[str, list[tuple[int, str, str]]] = {}
    ends = {}
    for event in workers:
        detail = event["detail"]
        if event["stream_id"].startswith("child:"):
            lives.setdefault(detail["child_id"], []).append((event["seq"], event["event"], detail["phase_at_event"]))
        if event["event"] in ("WORKER_PASS", "WORKER_FAIL"):
            named = (
                "code",
                "reason",
                "cancel_request_id",
                "refused",
            )  # one that is killed may just have ended by itself
            ends[detail["child_id"]] = {name: detail.get(name) for name in named}
    emitted = {(event["stream_id"], event["event"], event["detail"]["child_id"]) for event in events}
    totals = read_totals(place.records, name)
    spent = {lane: totals[lane].spent for lane in (BudgetLane.TOKENS, BudgetLane.SOLVER_CALLS)}
    return emitted, lives, ends, spent


def test_two_live_runs_have_the_same_events_as_sets_the_same_lives_ends_and_totals(tmp_path, url):
    for name in ("first", "other"):
        run_live(tmp_path, url, name)
    with open_place(tmp_path, url) as place:
        assert verify(place.records) == 2 * len(CHILDREN)
        one, other = observed(place, "first"), observed(place, "other")
        EventFiles(place.records, tmp_path / "events").project_session("first")
        stored = export_tokens(place.records, "first")
    assert one == other
    _, lives, ends, spent = one
    assert {child.removeprefix("NAME."): end["code"] for child, end in ends.items()} == {
        "talks": None,
        "greedy": "URM_CHILD_BUDGET_EXCEEDED",
        "fails": "URM_CHILD_FAILED",
        "endless": "URM_CHILD_CANCELLED",
        "waits": "URM_CHILD_CANCELLED",
    }
    assert [name for _, name, _ in lives["NAME.endless"]] == ["WORKER_START", "WORKER_CANCEL", "WORKER_FAIL"]
    assert [name for _, name, _ in lives["NAME.waits"]] == ["WORKER_CANCEL", "WORKER_FAIL"]
    assert spent == {BudgetLane.TOKENS: 30, BudgetLane.SOLVER_CALLS: 2}
    check_commands(tmp_path, url, stored)


def check_commands(folder, url, stored):
    """Check that the commands report the same of files and of the database, and find damage."""
    files = ("--files", str(folder / "events"))
    rows = ("first", "--folder", str(folder), "--url", url)
    assert events("replay", *files) == events("replay", *rows) == (0, stored)
    assert events("summary", *files, "--json") == events("summary", *rows, "--json")
    assert "5 children" in events("summary", *rows)[1]
    assert events("validate", *rows)[0] == events("validate", *files)[0] == 0
    with (folder / "events/child/first.talks.ndjson").open("a") as file:
        file.write('{"context"')
    code, output = events("validate", *files)
    assert (code, "child/first.talks.ndjson:3 URM_EVENT_STREAM_TORN" in output) == (1, True)
    assert events("replay", *files)[0] == 5
    assert events("validate")[0] == events("validate", "first", *files)[0] == 2


def events(*words):
    done = CliRunner().invoke(root, ["agents", "events", *words], prog_name="leasehold")
    return done.exit_code, done.output
