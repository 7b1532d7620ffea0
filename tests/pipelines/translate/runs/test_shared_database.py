"""Runs that share a PostgreSQL database, and workers on other machines: each run is served with its own tools."""

import os
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest

from leasehold.pipelines.translate import api
from leasehold.pipelines.translate.folder import RunFolder, RunForeign
from leasehold.pipelines.translate.settings import read_run_file
from leasehold.pipelines.translate.toolchain import Toolchain
from tests.pipelines.translate.workspace import (
    DOOR,
    HOUSE,
    SHY,
    TABLE,
    Workspace,
    answer_to,
    command,
    endpoint,
    known,
    spanish,
)
from tests.pipelines.translate.workspace import requested_text as asked_for
from tests.support.processes.fork_server import ROOT
from tests.support.processes.workers import WorkerProcess
from tests.support.wait import until

SERVING = "worker_started"


@pytest.fixture
def shared(postgres, tmp_path):
    """Makes desks whose jobs lie in one database."""
    url = postgres.create_database()
    return lambda name, document="story.md": Workspace(tmp_path / name, url, document)


@contextmanager
def worker(workspace, url):
    """A worker of nobody's: started as on another machine that has the run's folder."""
    path = workspace.folder / "elsewhere"
    environment = {"LEASEHOLD_TRANSLATE_DIR": str(workspace.run_folder), **({"LEASEHOLD_URL": url} if url else {})}
    with path.open("wb") as output:
        words = [sys.executable, "-m", "leasehold", "worker", "leasehold.pipelines.translate"]
        process = subprocess.Popen(words, cwd=ROOT, env=known() | environment, stdout=output, stderr=output)
    serving = WorkerProcess(process, path)
    try:
        until(lambda: serving.has_logged(SERVING))
        yield serving
    finally:
        if serving.running:
            serving.system.terminate()
            serving.end()


def test_two_runs_side_by_side_in_one_database_are_each_done_with_their_own_tools(shared):
    one, two = shared("one"), shared("two", "tale.md")
    one.write(HOUSE, TABLE)
    two.write(HOUSE, DOOR)
    (two.words).write_text(two.words.read_text().replace("casa", "morada"))
    with (
        endpoint(one, lambda asked: answer_to(asked_for(asked))) as server,
        one.process() as first,
        two.process() as second,
    ):
        assert (first.end(), second.end()) == (0, 0), first.log + second.log
    assert one.final() == [spanish(HOUSE), spanish(TABLE)]
    assert two.final() == [spanish(HOUSE).replace("casa", "morada"), spanish(DOOR)]
    assert sorted(asked_for(asked) for asked in server.asked) == [HOUSE, TABLE]
    assert (len(one.answers()), len(two.answers())) == (2, 2)
    assert {answer["answer"]["translator"] for answer in two.answers()} == {"dictionary words.json"}
    assert one.about("status").stdout == two.about("status").stdout == "       2  approved\n"


def test_of_two_folders_that_want_a_name_at_the_same_moment_one_has_it_and_the_other_forgets_it(shared):
    """Both have looked and seen no run of that name; it is had by who is in the database first, at every start."""
    one, two = shared("one"), shared("two")
    one.write(HOUSE)
    two.write(HOUSE, TABLE)
    orders = [api.Order(workspace.document, "en", "es", workspace.out, "", workspace.url) for workspace in (one, two)]
    first, second = (Toolchain(api._begin(order)) for order in orders)  # noqa: SLF001
    with closing(first), closing(second):
        first.claim_name()
        first.claim_name()
        with pytest.raises(RunForeign):
            second.claim_name(is_new=True)
    assert read_run_file(two.run_folder) is None
    assert one.translate().exit_code == 0
    assert "RUN_FOREIGN" in two.translate().stderr
    assert one.final() == [spanish(HOUSE)]


def test_a_run_of_the_same_name_in_the_same_database_is_refused_and_the_first_one_is_left_alone(shared):
    one, two = shared("one"), shared("two")
    one.write(HOUSE)
    assert one.translate().exit_code == 0
    two.write(TABLE)
    answer = two.translate()
    assert answer.exit_code == 2
    assert "RUN_FOREIGN" in answer.stderr
    assert "use another --run-id" in answer.stderr
    assert not two.out.exists()
    assert two.translate("--run-id", "other").exit_code == 0
    assert one.translate().stdout.splitlines()[0] == "1 paragraphs, nothing new"


def test_a_run_on_a_remote_database_keeps_no_address_and_asks_for_one(shared):
    workspace = shared("one")
    workspace.write(HOUSE)
    workspace.translate()
    kept = (RunFolder(workspace.run_folder).home / "run.json").read_text()
    assert '"database": "postgresql"' in kept
    assert workspace.url not in kept
    address, workspace.url = workspace.url, ""
    for answer in (
        workspace.translate(),
        workspace.about("status"),
        workspace.about("project"),
        workspace.about("approve", "--all"),
    ):
        assert answer.exit_code == 2
        assert "Pass --url postgresql://… or set LEASEHOLD_URL" in answer.stderr
    answer = command("translate", "status", str(workspace.run_folder), env={"LEASEHOLD_URL": address})
    assert answer.stdout == "       1  approved\n"
    assert not (workspace.run_folder / ".leasehold" / "translate.db").exists()


def test_a_run_in_its_own_folder_is_not_given_another_database(workspace, postgres):
    workspace.write(HOUSE)
    workspace.translate()
    workspace.url = postgres.create_database()
    answer = workspace.translate()
    assert answer.exit_code == 2
    assert "Leave out --url, or use another folder" in answer.stderr


@pytest.mark.parametrize(
    ("url", "code"), [("mysql://me:hush@host/x", 2), ("postgresql://me:hush@127.0.0.1:1/x", 3)], ids=["strange", "away"]
)
def test_a_database_that_is_none_or_does_not_answer_leaves_nothing_behind(workspace, url, code):
    workspace.write(HOUSE)
    workspace.url = url
    answer = workspace.translate()
    assert answer.exit_code == code, answer.output
    assert answer.stderr.startswith("error ")
    assert "hush" not in answer.output
    assert not workspace.out.exists()


def test_a_worker_on_another_machine_serves_the_run_it_is_given_while_persons_decide(database, tmp_path):
    workspace = Workspace(tmp_path, database)
    workspace.write(HOUSE)
    assert workspace.translate().exit_code == 0
    with worker(workspace, database) as serving:
        workspace.write(HOUSE, TABLE, SHY)
        assert workspace.translate().exit_code == 1
        assert workspace.about("approve", "3", "--by", "Ana").stdout == "     3  approved\n"
        assert serving.running, serving.log
    assert workspace.final() == [spanish(text) for text in (HOUSE, TABLE, SHY)]
    assert len(workspace.answers()) == 4


def test_a_worker_that_is_given_no_run_names_what_it_needs():
    words = [sys.executable, "-m", "leasehold", "worker", "leasehold.pipelines.translate"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("LEASEHOLD")}
    ended = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert "set LEASEHOLD_TRANSLATE_DIR" in ended.stderr
