"""`leasehold translate` as a person runs it: a document, its run, and words about both; in this process or in another.

The words of the dictionary make sentences that reviewers accept; SHY is one that no dictionary helps.
"""

import json
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from leasehold.cli.root import root
from leasehold.pipelines.translate.settings import RunSettings
from tests.support.db import rows
from tests.support.http.model_endpoint import EndpointServer, completion
from tests.support.processes.fork_server import run_module
from tests.support.processes.workers import command_process
from tests.support.wait import until

WORDS = {
    "the": "la",
    "house": "casa",
    "table": "mesa",
    "door": "puerta",
    "window": "ventana",
    "street": "calle",
    "church": "iglesia",
    "is": "es",
    "red": "roja",
    "white": "blanca",
    "black": "negra",
    "yellow": "amarilla",
}
HOUSE, TABLE, DOOR = "The house is red.", "The table is white.", "The door is black."
WINDOW, STREET, CHURCH = "The window is yellow.", "The street is white.", "The church is black."
SHY = "The wombat never gloms the frobnicator with her spanner on 12 May."
_word = re.compile(r"[A-Za-z]+")


def spanish(text):
    """Return a text as the dictionary translates it."""

    def turned(found):
        term = WORDS.get(found[0].lower(), found[0])
        return term[:1].upper() + term[1:] if found[0][:1].isupper() else term

    return _word.sub(turned, text)


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended, with the words of `click.testing`."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self):
        return self.stderr + self.stdout


class Workspace:
    """A folder with a document and its run. `url`: where the jobs lie; empty for the run's own folder."""

    def __init__(self, folder: Path, url="", name="story.md"):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.url = folder, url
        self.document, self.out = folder / name, folder / "runs"
        self.run_folder = self.out / f"{self.document.stem}-en-es"
        self.words = folder / "words.json"
        self.words.write_text(json.dumps({"words": WORDS}))
        self.translator = f"dictionary:{self.words}"
        self.back_translator = ""

    def write(self, *paragraphs):
        self.document.write_text("\n\n".join(paragraphs) + "\n")

    def order(self, *words):
        """Return the words of the command that translates the document; later ones go before."""
        where = ["--url", self.url] if self.url else []
        tools = ["--translator", self.translator, "--back-translator", self.back_translator]
        pair = ["--from", "en", "--to", "es"]
        return ["translate", str(self.document), *pair, "--out", str(self.out), *tools, *where, *words]

    def translate(self, *words):
        """Run the command in a process of its own, which forks its workers."""
        ended = run_module("leasehold", *self.order(*words), env=known())
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def about(self, verb, *words):
        """Run a verb about the run."""
        where = ["--url", self.url] if self.url else []
        return command("translate", verb, str(self.run_folder), *where, *words)

    def status(self):
        """Return the states of all paragraphs that were planned, in the order of the document."""
        return [row["state"] for row in json.loads(self.about("status", "--json").stdout)]

    def process(self, *words, log="output", terminal=None):
        """The command in a process of its own, with all it prints in a file; it is not left behind.

        `terminal`: where its errors go instead.
        """
        return command_process(self.order(*words), self.folder / log, terminal=terminal, env=known())

    def answers(self):
        """Return everything that translators ever answered here."""
        path = self.run_folder / ".leasehold" / "answers.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def final(self):
        """Return the paragraphs of the translated document."""
        return (self.run_folder / "final" / self.document.name).read_text().rstrip("\n").split("\n\n")

    def rows(self, name):
        """Return the rows of a projection."""
        return [json.loads(line) for line in (self.run_folder / name).read_text().splitlines()]

    def ask(self, statement):
        """Ask the database of the run, behind the engine's back."""
        return rows(RunSettings.read(self.run_folder, self.url).database, statement)


def command(*words, env=None):
    """Run the command in this process."""
    return CliRunner().invoke(root, words, env={"LEASEHOLD_URL": None, **(env or {})}, prog_name="leasehold")


def known():
    return {name: value for name, value in os.environ.items() if name != "LEASEHOLD_URL"}


def traces(folder: Path):
    """Return what any change of a run's files would change; the database's own files and the lock's do not count."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith(("RUNNING", "translate.db")):
            status = path.stat()
            found[str(path.relative_to(folder))] = (status.st_ino, status.st_mtime_ns, path.read_bytes())
    return found


def contents(folder: Path):
    """Return the files that a run is read from, and what is in them."""
    paths = [path for path in folder.rglob("*") if path.is_file() and ".leasehold" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if not path.name.startswith("RUNNING")}


def requested_text(asked):
    """Return the text that an endpoint was asked to translate."""
    return json.loads(asked.body["messages"][-1]["content"])["text"]


def answer_to(text):
    """Return an endpoint's answer to a text."""
    return completion(json.dumps({"translation": spanish(text)}))


@contextmanager
def endpoint(workspace, script, port=0):
    """An endpoint for the desk's translator that answers by a script."""
    with EndpointServer(script, port) as server:
        workspace.translator = f"openai:some-model@{server.base}/v1"
        yield server


def until_asked(server, process, count):
    """Wait until an endpoint was asked so often; the error shows the output of a command that has ended instead."""
    until(lambda: len(server.asked) >= count or not process.running)
    assert process.running, process.log
