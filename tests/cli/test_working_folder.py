"""No command runs code of the working folder, except those that are given an app: `worker MODULE:APP` and the like."""

import os
import subprocess
import sys
import sysconfig
from importlib.metadata import packages_distributions
from pathlib import Path

import click
import pytest

from leasehold import Leasehold
from leasehold.cli.root import root
from tests.cli.test_help import help_of, verbs
from tests.pipelines.translate.workspace import HOUSE, Workspace
from tests.support.http.file_server import FileServer

SCRIPT = str(Path(sysconfig.get_path("scripts")) / "leasehold")
NAMES = {*sys.stdlib_module_names, *filter(str.isidentifier, packages_distributions()), "sitecustomize", "leasehold"}
EVERY_HELP = """
import sys
from leasehold.cli.root import root
for words in {words}:
    root([*words, "--help"], prog_name="leasehold", standalone_mode=False)
"""


class TrappedFolder:
    """A folder with a module of every known name, each of which leaves its name in a file when it is run."""

    def __init__(self, folder: Path) -> None:
        self.path, self._trace = folder / "trapped", folder / "trace"
        self.path.mkdir()
        for name in NAMES:
            text = f"open({str(self._trace)!r}, 'a').write({name!r} + chr(10))\n"
            (self.path / f"{name}.py").write_text(text)

    def run(self, *words: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(word) for word in words],
            cwd=self.path,
            env=(env or {}) | {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def leasehold(self, *words: object) -> None:
        done = self.run(SCRIPT, *words, env={"LEASEHOLD_URL": f"sqlite:///{self.path}/jobs.db"})
        assert done.returncode == 0, done.stdout + done.stderr

    @property
    def trace(self) -> set[str]:
        return set(self._trace.read_text().splitlines()) if self._trace.exists() else set()


@pytest.fixture
def trapped(tmp_path):
    return TrappedFolder(tmp_path)


def test_the_trap_is_sprung_by_whatever_imports_from_the_folder(trapped):
    trapped.run(sys.executable, "-c", "import csv, msgspec")
    assert {"csv", "msgspec"} <= trapped.trace


def test_translate_runs_no_code_that_lies_next_to_the_document(trapped):
    space = Workspace(trapped.path, name="README.md")
    space.write(HOUSE)
    trapped.leasehold(*space.order())
    trapped.leasehold("translate", "status", space.run_folder)
    trapped.leasehold("contracts", "check", space.run_folder)
    assert trapped.trace == set()


def test_download_runs_no_code_that_lies_next_to_the_manifest(trapped):
    with FileServer() as server:
        (trapped.path / "papers").write_text(server.add("/a.pdf", b"all of it"))
        trapped.leasehold("download", "papers", "--out", "files", "--workers", "1")
    trapped.leasehold("download", "verify", "files")
    assert trapped.trace == set()


def test_agents_run_no_code_that_lies_next_to_the_plan(trapped):
    (trapped.path / "plan.toml").write_text('[session]\nid = "demo"\n[[child]]\nname = "one"\ncommand = ["true"]\n')
    trapped.leasehold("agents", "run", "plan.toml")
    for verb in ("status", "events", "report", "verify"):
        trapped.leasehold("agents", verb, "demo")
    assert trapped.trace == set()


def test_the_tour_and_its_workers_run_no_code_of_the_folder(trapped):
    trapped.leasehold("tour", "--jobs", "3", "--kills", "0", "--workers", "1")
    assert trapped.trace == set()


def test_commands_about_jobs_run_no_code_of_the_folder(trapped):
    trapped.leasehold("migrate")
    app = Leasehold(f"sqlite:///{trapped.path}/jobs.db")

    @app.job
    def greet(name: str):
        return name

    job = greet.submit({"name": "Ada"})
    app.drain()
    app.close()
    reads = (["jobs"], ["show"], ["events"], ["effects"], ["export"], ["verify"])
    for words in (
        ["doctor"],
        ["dead", "list"],
        ["deliveries", "list"],
        ["queues", "list"],
        ["prune", "--older-than", "1d"],
    ):
        trapped.leasehold(*words)
    for words in reads:
        trapped.leasehold(*words, *([] if words == ["jobs"] else [job.id]))
    assert trapped.trace == set()


def test_help_of_every_command_runs_no_code_of_the_folder(trapped):
    done = trapped.run(sys.executable, "-P", "-c", EVERY_HELP.format(words=[[], *map(list, verbs(root))]))
    assert (done.returncode, done.stderr, trapped.trace) == (0, "", set())


def test_python_m_leasehold_takes_the_folder_off_the_path_before_it_imports_anything(trapped):
    """What Python itself imports for -m comes before any code of the command; nothing else does."""
    loaded = trapped.run(sys.executable, "-P", "-c", "import runpy, sys; print(*sys.modules)").stdout.split()
    for name in {*loaded, "leasehold"}:
        (trapped.path / f"{name}.py").unlink(missing_ok=True)
    done = trapped.run(sys.executable, "-m", "leasehold", "--version")
    assert (done.returncode, done.stderr, trapped.trace) == (0, "", set())


def commands_that_import() -> list[tuple[str, ...]]:
    """Return the commands that are given an app as MODULE:APP."""
    found = []
    for words in verbs(root):
        command: click.Command = root
        for word in words:
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(root), word) or root
        if any(parameter.metavar == "MODULE:APP" for parameter in command.params):
            found.append(words)
    return found


def test_the_help_of_a_command_that_imports_an_app_states_that_this_folder_is_on_the_path():
    assert ("worker",) in commands_that_import()
    silent = [
        words for words in commands_that_import() if "this folder on the path" not in " ".join(help_of(*words).split())
    ]
    assert silent == []
