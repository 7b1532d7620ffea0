"""The document of the long runs: written from lines, and only from lines."""

import json

from tests.lab import proof
from tests.storms.figures import Proof


def test_what_a_storm_writes_is_a_line_of_the_document(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASEHOLD_PROOF", str(tmp_path / "lines"))
    Proof("kills", "sqlite", {"jobs": 7}, {"SIGKILL": 3}, 1.5, 2.0, 0, None, None, ["S3: task 5 is lost"]).write()
    page = proof.page([json.loads((tmp_path / "lines").read_text())])
    assert "| kills | sqlite | SIGKILL 3 | jobs 7 | 2 |  | S3: task 5 is lost |" in page


def test_a_line_is_written_only_where_somebody_collects_it(tmp_path, monkeypatch):
    monkeypatch.delenv("LEASEHOLD_PROOF", raising=False)
    proof.record("storm", storm="kills")
    monkeypatch.setenv("LEASEHOLD_PROOF", str(tmp_path / "lines"))
    proof.record("storm", storm="kills", kills=7)
    (line,) = (tmp_path / "lines").read_text().splitlines()
    assert json.loads(line)["kills"] == 7
    assert json.loads(line)["commit"]


def test_the_document_adds_up_what_the_lines_say_and_holds_nothing_else():
    lines: list[proof.Line] = [
        {"part": "seeds", "commit": "abc", "first": 0, "last": 9, "runs": 10, "bad": 0, "steps": 70, "seconds": 1800,
         "faults": {"crash": 3}},
        {"part": "seeds", "commit": "abc", "first": 10, "last": 19, "runs": 10, "bad": 0, "steps": 30, "seconds": 1800,
         "faults": {"crash": 4}},
        {"part": "points", "commit": "abc", "name": "a claim", "singles": 31, "pairs": 900, "bad": 0, "seconds": 36},
        {"part": "storm", "commit": "abc", "storm": "kills", "database": "sqlite", "faults": {"SIGKILL": 1000},
         "counts": {"jobs": 5000}, "measured": {}, "seconds": 61.2, "lease_seconds": 2.0, "repickups": 900,
         "repickup_p99_seconds": 1.234, "repickup_max_seconds": 1.5, "verdict": []},
        {"part": "saboteurs", "commit": "abc", "name": "no fence", "caught": "tests/x.py::test_y", "seconds": 2.4},
        {"part": "saboteurs", "commit": "abc", "name": "no jitter", "caught": None, "seconds": 5},
    ]  # fmt: skip
    page = proof.page(lines)
    assert "20 runs (seeds 0 to 19), 100 points passed, 1.0 hours of computing, 0 broken promises." in page
    assert "| crash | 7 |" in page
    assert "| a claim | 31 | 900 | 0 |" in page
    assert "| kills | sqlite | SIGKILL 1,000 | jobs 5,000 | 61 | 1.23 s of 900 (2 s) | nothing wrong |" in page
    assert "1 of 2 broken builds were found out." in page
    assert "| no jitter | SURVIVED | 5 |" in page
    assert "## Storms" not in proof.page(lines[:2])
