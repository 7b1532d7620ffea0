"""What a report of a real session shows is what the database holds, on both databases, and what is kept on disk."""

import re

import pytest

from leasehold.pipelines.agents.child.git import git
from leasehold.pipelines.agents.coordinator.engine_jobs import find_session_job
from leasehold.pipelines.agents.errors import SessionUnknown
from leasehold.pipelines.agents.place import open_place
from leasehold.pipelines.agents.view.read import read_view
from leasehold.pipelines.agents.view.report import write_report
from leasehold.pipelines.agents.view.values import ChildStatus
from tests.pipelines.agents.coordinator.sessions import PYTHON, run_plan, session, spec, talker, write_plan
from tests.pipelines.agents.view.test_report_page import PageReader

WHO = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
KEY = "AKIAIOSFODNN7EXAMPLE"
EDIT = f"open('made.txt', 'w').write('<b>new</b>\\nkey = {KEY}\\n'); print('<i>printed</i>')"


def make_repository(folder):
    for words in (("init", "--quiet"), ("add", "--all"), (*WHO, "commit", "--quiet", "-m", "first")):
        git(folder, *words)


def test_the_figures_of_a_report_are_those_of_the_database(tmp_path, url):
    folder = tmp_path / "plans"
    folder.mkdir()
    path = write_plan(
        folder,
        talker("one", usage=[12, 30], calls=2),
        talker("two", usage=[50, 20]),
        {"name": "edits", "command": (*PYTHON, EDIT), "worktree": True, "after": ["two"]},
        {"name": "last", "command": ("true",), "after": ["two"]},
        budget={"tokens": 100, "solver_calls": 5},
        max_active_children=1,
    )
    make_repository(folder)
    run_plan(path, url)
    with open_place(folder, url) as place:
        page = write_report(place, "demo")
        view = read_view(place, "demo", page)
        job = find_session_job(place.app, "demo")
        totals = {} if job is None else job.budget
        spent = place.records.read(lambda transaction: transaction.run("child/spent", parent_session_id="demo"))
    assert {lane.name: (lane.spent, lane.left) for lane in view.lanes} == {
        "tokens": (92, 8),
        "solver_calls": (2, 3),
        "duration_secs": (totals["duration_secs"].spent, None),
    }
    assert sum(amount for _, _, amount in spent) == sum(total.spent for total in totals.values())
    by_child = {(child.child_id, lane): use.spent for child in view.children for lane, use in child.use.items()}
    assert {key: amount for key, amount in by_child.items() if amount} == {row[:2]: row[2] for row in map(tuple, spent)}
    tokens = view.lanes[0]
    assert [(debit.amount, debit.total, debit.is_refused) for debit in tokens.debits] == [
        (12, 12, False), (30, 42, False), (50, 92, False), (20, 92, True),
    ]  # fmt: skip
    one, two, edits, last = view.children
    statuses = (ChildStatus.PASSED, ChildStatus.OVER_BUDGET, ChildStatus.SKIPPED, ChildStatus.SKIPPED)
    assert tuple(child.status for child in view.children) == statuses
    assert (two.use["tokens"].spent, two.use["tokens"].refused, two.use["tokens"].left) == (50, 20, 8)
    assert two.reason == "A debit of 20 tokens did not fit into what was left."
    moments = [one.times.queued, one.times.leased, one.times.started, one.times.ended]
    assert moments == sorted(moment for moment in moments if moment is not None)
    assert (one.dispatch_seq, two.dispatch_seq, last.dispatch_seq, edits.use) == (1, 2, None, {})
    text = re.sub(r"\s+", " ", "".join(PageReader(page.read_text()).texts))
    assert "1 of 4 children passed; 1 exceeded a budget, 2 were skipped." in text
    assert "92 of 100 spent · 8 left · 1 debit refused (20 tokens)" in text
    assert "2 of 5 spent · 3 left" in text


def test_a_report_shows_what_a_child_printed_and_changed_without_secrets_and_links_to_the_files(tmp_path, url):
    folder = tmp_path / "plans"
    folder.mkdir()
    path = write_plan(folder, {"name": "edits", "command": (*PYTHON, EDIT), "worktree": True})
    make_repository(folder)
    run_plan(path, url)
    with open_place(folder, url) as place:
        page = write_report(place, "demo", tmp_path / "elsewhere" / "page.html")
    reader = PageReader(page.read_text())
    text = "".join(reader.texts)
    assert "+<b>new</b>" in text
    assert "<i>printed</i>" in text
    assert KEY not in page.read_text()
    files = [link for link in reader.links if not link.startswith("#")]
    assert {link.rpartition("/")[2] for link in files} == {"stdout.txt", "diff.patch"}
    assert all((page.parent / link).is_file() for link in files)


def test_a_session_that_runs_is_shown_as_it_is_and_one_that_is_not_there_is_refused(tmp_path, url):
    with session(tmp_path, url) as opened:
        opened.spawn(spec("waits", "true"), "request", child_id="demo.waits")
        with open_place(tmp_path, url) as place:
            view = read_view(place, "demo")
            with pytest.raises(SessionUnknown):
                write_report(place, "nothing")
        assert [(child.status, child.times.ended) for child in view.children] == [(ChildStatus.WAITING, None)]
        assert not view.is_over
