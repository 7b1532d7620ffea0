"""The document of the long runs: written from lines, and only from lines, each counted once."""

import json
import subprocess
import sys

import pytest

from tests.chaos.figures import Proof, Repickups
from tests.support.oracle import proof_report
from tests.support.oracle.commit import Refused, engine_of, standing
from tests.support.oracle.unshown import SCENARIOS, SEEDS, WANTED, unshown
from tests.support.processes.fork_server import ROOT


def seeds(first: int, last: int, **fields) -> proof_report.Line:
    line = {"part": "seeds", "commit": "abc", "test": f"seeds[{first}]", "first": first, "last": last, "bad": 0}
    return line | {"runs": last - first + 1, "steps": 50, "seconds": 1800, "faults": {"crash": 3}} | fields


def points(name: str, **fields) -> proof_report.Line:
    line = {"part": "points", "commit": "abc", "test": f"points[{name}]", "name": name, "bad": 0, "seconds": 36}
    return line | {"singles": 31, "pairs": 900} | fields


def storm(name: str, **fields) -> proof_report.Line:
    line: proof_report.Line = {
        "part": "storm",
        "commit": "abc",
        "test": f"storms[{name}]",
        "storm": name,
        "database": "sqlite",
    }
    line |= {"faults": {"SIGKILL": 1000}, "counts": {"jobs": 5000}, "measured": {}, "seconds": 61.2, "verdict": []}
    late = {"count": 900, "p50": 0.5, "p99": 1.234, "longest": 1.5}
    return line | {"lease_seconds": 2.0, "repickups": late, "spared": ""} | fields


def mutant(name: str, caught: str | None = "tests/x.py::test_y", **fields) -> proof_report.Line:
    return {"part": "mutants", "commit": "abc", "test": "", "name": name, "caught": caught, "seconds": 5} | fields


def whole() -> list[proof_report.Line]:
    """Lines that show everything."""
    storms = []
    for wanted in WANTED:
        for database in wanted.databases:
            both = {one.fault: one.times for one in WANTED if one.storm == wanted.storm}
            name = f"{wanted.storm} on {database}"
            line = storm(wanted.storm, database=database, test=name, faults=both, measured={"snapshot seconds": 300})
            storms.append(line)
    mutants = [mutant(f"mutant {number}") for number in range(40)]
    return [seeds(0, SEEDS - 1), *(points(f"scenario {number}") for number in range(SCENARIOS)), *storms, *mutants]


def test_what_a_storm_writes_is_a_line_of_the_document(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASEHOLD_PROOF", str(tmp_path / "lines"))
    monkeypatch.setenv("LEASEHOLD_COMMIT", "abc")
    Proof(
        "kills", "sqlite", {"jobs": 7}, {"SIGKILL": 3}, 1.5, 2.0, Repickups.of([1.0, 2.0, 0.5]), ["S3: 5 is lost"]
    ).write()
    line = json.loads((tmp_path / "lines").read_text())
    assert line["test"].endswith("::test_what_a_storm_writes_is_a_line_of_the_document")
    expected = "| kills | sqlite | SIGKILL 3 | jobs 7 | 2 | 2 | 1.00 / 2.00 / 2.00 s of 3 | S3: 5 is lost |"
    assert expected in proof_report.page([line])


def test_a_line_is_written_only_where_somebody_collects_it_and_the_tree_has_a_name(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASEHOLD_COMMIT", "abc")
    monkeypatch.delenv("LEASEHOLD_PROOF", raising=False)
    proof_report.record("storm", storm="kills")
    monkeypatch.setenv("LEASEHOLD_PROOF", str(tmp_path / "lines"))
    proof_report.record("storm", storm="kills", kills=7)
    monkeypatch.setenv("LEASEHOLD_COMMIT", "unknown")
    proof_report.record("storm", storm="kills", kills=8)
    (line,) = (tmp_path / "lines").read_text().splitlines()
    assert json.loads(line)["kills"] == 7
    assert json.loads(line)["commit"] == "abc"


def test_the_document_adds_up_the_lines_and_holds_nothing_else():
    lines = [
        seeds(0, 9),
        seeds(10, 19, bad=2, faults={"crash": 4}),
        points("a claim"),
        storm("kills"),
        storm("stops", faults={"SIGKILL": 5, "SIGSTOP": 200}),
        storm("restarts", repickups={"count": 0, "p50": None, "p99": None, "longest": None}, spared="Nobody is lost."),
        mutant("no fence"),
        mutant("no jitter", None),
    ]
    page = proof_report.page(lines)
    assert "20 runs (seeds 0 to 19), 100 points passed, 1.0 hours of computing, 2 broken promises." in page
    assert "Every point of 1 scenarios (31 runs), and every two points (900 runs); 0.0 hours" in page
    assert "| crash | 7 |" in page
    assert "| a claim | 31 | 900 | 0 |" in page
    line = "| kills | sqlite | SIGKILL 1,000 | jobs 5,000 | 61 | 2 | 0.50 / 1.23 / 1.50 s of 900 | nothing wrong |"
    assert line in page
    assert "3 tests, 15,000 jobs, 1,800 re-pickups, 0.1 hours, 0 broken promises." in page
    assert "| SIGKILL | 2,005 |" in page
    assert "| none: Nobody is lost. | nothing wrong |" in page
    assert "1 of 2 mutants were detected." in page
    assert "| no jitter | SURVIVED | 5 |" in page
    assert "1.1 hours of computing, 2 broken promises." in page
    assert "## Chaos" not in proof_report.page(lines[:2])


def test_of_a_test_that_was_run_again_the_last_line_counts():
    failed = storm("kills", verdict=["S3: task 5 is lost"], counts={"jobs": 3})
    page = proof_report.page(
        [failed, mutant("no fence", None), storm("kills"), mutant("no fence"), seeds(0, 9), seeds(0, 9)]
    )
    assert "1 tests, 5,000 jobs, 900 re-pickups" in page
    assert "is lost" not in page
    assert "- abc: The storm 'kills' on sqlite without a fault of ours: 1 things are wrong." in page
    assert "- abc: The mutant 'no fence' survived." in page
    assert "1 of 1 mutants were detected." in page
    assert "10 runs (seeds 0 to 9)" in page
    assert "S3: task 5 is lost" in proof_report.page([storm("kills"), failed])


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([seeds(0, 9), seeds(10, 19, commit="def")], r"Lines of 2 commits \(abc, def\)[^$]*run `make soak` again"),
        ([seeds(0, 9), seeds(0, 9, test="other")], r"2 tests write of the seeds 0, 9: other, seeds\[0\]. Delete"),
        ([seeds(0, 9), seeds(5, 14)], "Seeds 0 to 9 and 5 to 14 overlap[^$]*Delete one"),
        ([points("a claim"), points("a claim", test="other")], "2 tests write of the points a claim"),
        ([storm("kills"), storm("kills", test="other")], "2 tests write of the storm kills, sqlite"),
    ],
)
def test_lines_that_would_count_twice_are_refused_and_the_error_names_what_to_do(lines, sentence):
    with pytest.raises(Refused, match=sentence):
        proof_report.page(lines)


def test_lines_of_two_commits_go_together_if_their_engine_is_the_same():
    lines = [seeds(0, 9), seeds(10, 19, bad=1), seeds(10, 19, commit="def")]
    page = proof_report.page(lines, engine={"abc": "tree", "def": "tree"}.__getitem__)
    assert "Commits abc (1 tests and mutants), def (1 tests and mutants); their `src/` is the same, tree." in page
    assert "20 runs (seeds 0 to 19)" in page
    assert "- abc: Seeds 10 to 19: 1 broken promises." in page
    with pytest.raises(Refused, match="Figures are of one engine"):
        standing(lines, engine={"abc": "tree", "def": "other"}.__getitem__)


def test_an_engine_is_named_by_the_tree_of_its_source(tmp_path):
    def commit(name: str) -> str:
        (tmp_path / name).write_text(name)
        asked = ("add .", "-c user.name=x -c user.email=x@example.org commit -qm x", "tag " + name)
        for words in ("init -q", *asked):
            subprocess.run(["git", *words.split()], cwd=tmp_path, check=True)  # noqa: S607
        return engine_of(name, tmp_path)

    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "engine").write_text("one")
    first = commit("begun")
    assert commit("tests-changed") == first != "begun"
    (tmp_path / "src" / "engine").write_text("another")
    assert commit("engine-changed") != first
    assert engine_of("begun-dirty", tmp_path) == "begun-dirty"


def test_the_same_storm_on_two_databases_is_two_storms():
    assert len(standing([storm("kills"), storm("kills", database="postgres")])) == 2


def test_a_run_that_shows_everything_is_reported_as_complete():
    assert unshown(standing(whole())) == []
    assert "Nothing that was asked for is missing." in proof_report.page(whole())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"part": "seeds", "runs": 999_999}, "1,000,000 simulated schedules: 999,999 were run."),
        ({"part": "seeds", "bad": 1}, "Simulated schedules that break no promise: 1 did."),
        ({"part": "points", "pairs": 0}, "Every crash point of the scenario 'scenario 0': 31 single and 0 double"),
        ({"part": "storm", "faults": {"SIGKILL": 999}}, "'SIGKILL' on sqlite with 1,000 × SIGKILL: 999 were made."),
        (
            {"part": "storm", "verdict": ["S3: lost"]},
            "'SIGKILL' on sqlite without a fault of ours: 1 things are wrong.",
        ),
        ({"part": "storm", "repickups": {"count": 1, "p99": 4.5}}, "p99 of re-pickup within 4 s; it was 4.50 s."),
        ({"part": "storm", "repickups": {"count": 0, "p99": None}}, "p99 of re-pickup; nothing was picked up again."),
        ({"part": "mutants", "caught": None}, "The mutant 'mutant 0' found out: it survived."),
        ({"part": "mutants", "commit": "abc-dirty"}, "The tree had changes that are in no commit"),
    ],
)
def test_what_a_run_falls_short_of_is_listed(change, sentence):
    lines = whole()
    place = next(number for number, line in enumerate(lines) if line["part"] == change["part"])
    lines[place] |= change
    (found,) = unshown(lines)
    assert sentence in found


def test_everything_that_has_no_line_is_listed():
    found = unshown([])
    assert len(found) == 3 + sum(len(wanted.databases) for wanted in WANTED)
    assert "The storm 'power loss' on sqlite with 1 × power cut: 0 were made." in found
    assert "\n- 1,000,000 simulated schedules: 0 were run.\n" in proof_report.page([]).partition("## Not shown")[2]


def test_the_command_refuses_with_a_reason_and_leaves_the_document_as_it_is(tmp_path):
    path = tmp_path / "lines"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (seeds(0, 9), seeds(10, 19, commit="def"))))
    before = proof_report.PAGE.read_bytes() if proof_report.PAGE.exists() else None
    command = [sys.executable, "-m", "tests.support.oracle.proof_report", str(path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "Lines of 2 commits (abc, def)" in ran.stderr
    assert (proof_report.PAGE.read_bytes() if proof_report.PAGE.exists() else None) == before
