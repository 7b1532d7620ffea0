"""One execution of a fixture. As a module it reads the fixture from standard input, and prints hashes of what was left.

Everything in it is deterministic: times are those of the steps, and ids are hashes of sequence numbers.
"""

import hashlib
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from leasehold.canonical import encode, parse
from leasehold.errors import LeaseholdError
from leasehold.pipelines.agents.errors import FixtureEndsDiffer
from leasehold.pipelines.agents.event_reports.report import EventReport, read_report
from leasehold.pipelines.agents.event_reports.streams import lines_of_folder
from leasehold.pipelines.agents.place import open_place
from leasehold.pipelines.agents.stop_gate.fixture import StopGateFixture, read_fixture
from leasehold.pipelines.agents.stop_gate.manifest import ArtifactName
from leasehold.pipelines.agents.stop_gate.run import FixtureRun
from leasehold.pipelines.agents.stop_gate.steps import FixtureStep
from leasehold.pipelines.agents.tokens import export_tokens
from leasehold.pipelines.agents.verify import verify

STANDARD_INPUT: Final = "standard input"


def execute(fixture: StopGateFixture, folder: Path) -> dict[ArtifactName, str]:
    """Take every step of a fixture, check what is stored, and return it as lines of canonical JSON, by artifact."""
    with open_place(folder) as place:
        run = FixtureRun(fixture.session, place)
        answers = [_answer(run, step) for step in fixture.steps]
        verify(place.records)
        run.files.project_session(run.session_id)
        report = read_report(lines_of_folder(run.folder))
        tokens, totals = export_tokens(place.records, run.session_id), run.accounts.totals()
    _check_ends(fixture, report, tokens)
    return {
        ArtifactName.ANSWERS: _lines(answers),
        ArtifactName.BUDGET: _lines(totals),
        ArtifactName.EVENTS: _files(run.folder),
        ArtifactName.REPLAY: report.replay(),
        ArtifactName.TOKENS: tokens,
    }


def hashes(artifacts: dict[ArtifactName, str]) -> dict[str, str]:
    return {name.value: hashlib.sha256(text.encode()).hexdigest() for name, text in artifacts.items()}


def _answer(run: FixtureRun, step: FixtureStep) -> Any:
    """Take a step; a refusal is answered with its code."""
    run.ts = step.ts
    try:
        return step.take(run, run.state(step.coordinator))
    except LeaseholdError as error:
        return {"refused": error.code}


def _check_ends(fixture: StopGateFixture, report: EventReport, tokens: str) -> None:
    """Check that each child was left as the fixture states."""
    found = {row["child_id"]: row["phase"] for row in map(parse, tokens.splitlines())}
    for child in report.children():
        if child.end is not None:
            found[child.child_id] = str(child.end.detail.get("code", "passed"))
    if found != fixture.ends:
        raise FixtureEndsDiffer(f"{encode(found)}.", fixture_id=fixture.fixture_id)


def _files(folder: Path) -> str:
    """Return the files of all streams, each after its name."""
    paths = sorted(path.relative_to(folder) for path in folder.rglob("*.ndjson"))
    return "".join(f"{path}\n{(folder / path).read_text(encoding='utf-8')}" for path in paths)


def _lines(values: Iterable[Any]) -> str:
    return "".join(f"{encode(value)}\n" for value in values)


def main() -> None:
    text = sys.stdin.buffer.read().decode("utf-8")
    with tempfile.TemporaryDirectory(prefix="leasehold-stop-gate-") as folder:
        left = execute(read_fixture(parse(text), STANDARD_INPUT), Path(folder))
    sys.stdout.write(encode(hashes(left)))


if __name__ == "__main__":
    main()
