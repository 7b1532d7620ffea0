"""`leasehold translate` as a person runs it, a process of its own, and what it leaves in the run's folder."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes.fork_server import run_module

STEERING = ("LEASEHOLD_URL", "LEASEHOLD_TRANSLATE_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY")


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has ended: what the command printed, its exit code, and the folder."""

    folder: Path
    exit_code: int
    output: str

    def rows(self, name):
        return [json.loads(line) for line in (self.folder / name).read_text(encoding="utf-8").splitlines()]

    def reviews(self):
        files = sorted((self.folder / "review" / "normalized").glob("*.jsonl"))
        return [row for path in files for row in self.rows(path.relative_to(self.folder))]

    @property
    def manifest(self):
        return json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))

    @property
    def report(self):
        return (self.folder / "report.html").read_text(encoding="utf-8")

    @property
    def states(self):
        """The last state of each paragraph, in their order."""
        last = {row["paragraph_index"]: row["state"] for row in self.rows("state/paragraph_state.jsonl")}
        return [last[index] for index in range(1, len(last) + 1)]

    def files(self):
        """Every file that is not the engine's own."""
        paths = [path for path in self.folder.rglob("*") if path.is_file()]
        own = [path for path in paths if ".leasehold" not in path.parts]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in own}


def run_translate(document, out, *words, **environment):
    """Translate a document from English into Spanish, and return how it ended."""
    known = {name: value for name, value in os.environ.items() if name not in STEERING}
    given = ["translate", str(document), "--from", "en", "--to", "es", "--out", str(out), *words]
    ended = run_module("leasehold", *given, env=known | environment)
    return Run(Path(out) / f"{Path(document).stem}-en-es", ended.returncode, ended.stdout + ended.stderr)
