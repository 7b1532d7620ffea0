"""What the command's tests share: the command in this process, and as processes of its own."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from leasehold import Leasehold, Permanent, Task
from leasehold.cli.root import root
from tests.support.processes.fork_server import ROOT, run_module, start_module
from tests.support.processes.workers import WorkerProcess

Command = Callable[..., Result]


@pytest.fixture
def command(url, tmp_path) -> Command:
    """Runs the command in this process on the test's database: `command("jobs", "--json")`."""
    return lambda *words, text=None: CliRunner().invoke(
        root, [str(word) for word in words], input=text, env={"LEASEHOLD_URL": url}, prog_name="leasehold"
    )


@pytest.fixture
def app(url) -> Iterator[Leasehold]:
    """An app with a few kinds on the same database."""
    with contextlib.closing(Leasehold(url)) as app:
        add_kinds(app)
        yield app


def add_kinds(app: Leasehold) -> None:
    @app.job(queue="mail")
    def greet(task: Task, name: str):
        return {"greeting": f"hello {name}"}

    @app.job
    def refuse(why: str):
        raise Permanent(why)

    film = app.pipeline("film")

    @film.stage
    def script(scenes: int):
        return {"scenes": list(range(scenes))}

    @film.stage(after=script, each="scenes")
    def audio(task: Task, scenes: int):
        return task.segment * 10

    @film.stage(after=audio)
    def render(task: Task, scenes: int):
        return sum(task.inputs["audio"])


class Processes:
    """The command as processes of its own; none is left behind."""

    def __init__(self, url: str, folder: Path) -> None:
        self._folder = folder
        self._started: list[WorkerProcess] = []
        self.environment = {**os.environ, "LEASEHOLD_URL": url, "WORKSHOP_FOLDER": str(folder)}

    def start(self, *words: object, **options: Any) -> WorkerProcess:
        """Start `leasehold …`; what it prints, on either stream, is its log."""
        log = self._folder / f"output-{len(self._started)}"
        with log.open("wb") as lines:
            settings: dict[str, Any] = {
                "cwd": ROOT,
                "env": self.environment,
                "stdout": lines,
                "stderr": lines,
            } | options
            process = start_module("leasehold", *map(str, words), **settings)
        self._started.append(WorkerProcess(process, log))
        return self._started[-1]

    def run(self, *words: object, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run `leasehold …` to its end."""
        return run_module("leasehold", *map(str, words), **({"env": self.environment} | options))

    def python(self, code: str) -> subprocess.CompletedProcess[str]:
        """Run some code in a new interpreter."""
        command = [sys.executable, "-c", code]
        return subprocess.run(command, check=False, text=True, cwd=ROOT, env=self.environment, capture_output=True)

    def close(self) -> None:
        for worker in self._started:
            if worker.running:
                worker.kill()


@pytest.fixture
def processes(url, tmp_path) -> Iterator[Processes]:
    with contextlib.closing(Processes(url, tmp_path)) as processes:
        yield processes
