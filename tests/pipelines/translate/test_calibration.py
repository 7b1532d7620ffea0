"""The default thresholds on real output: what Apertium made of 150 paragraphs, as it came and with damage done to it.

`reviewers/apertium.jsonl` holds English paragraphs of Alice’s Adventures in Wonderland (Lewis Carroll, 1865, in the
public domain), their Spanish by `apertium eng-spa`, marks and all, and the English that `apertium -u spa-eng` makes.
"""

import json
import re
from pathlib import Path

import pytest

from leasehold.pipelines.translate.gate import Assessment, Thresholds, assess
from leasehold.pipelines.translate.reviewers.checks.negation import DENYING
from leasehold.pipelines.translate.reviewers.review import Subject
from leasehold.pipelines.translate.reviewers.standard import standard_reviewers

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "reviewers" / "apertium.jsonl").read_text(encoding="utf-8").splitlines()
]
TAIL = (" It was on 12 March 1867, with 340 men.", " Fue el 12 de marzo de 1867, con 340 hombres.")
LINK = " https://example.org/alice?page=7"
DENIALS = re.compile(rf"\b(?:{'|'.join(sorted(DENYING['es'].plain))})\b", re.IGNORECASE)


def judged(source: str, candidate: str, back: str | None = None) -> Assessment:
    reviewers = standard_reviewers(None if back is None else lambda _: back)
    subject = Subject(source, candidate, "en", "es", (), {})
    return assess([each.review(subject) for each in reviewers], Thresholds(), attempt=1, attempts_max=4)


def is_accepted(assessment: Assessment) -> bool:
    return assessment.outcome.startswith("accept")


@pytest.fixture(scope="module")
def accepted():
    """The rows that pass as they are, and pass with more text on both sides."""
    return [row for row in ROWS if is_accepted(judged(row["source"] + TAIL[0], row["candidate"] + TAIL[1]))]


def test_most_real_paragraphs_are_accepted_by_the_defaults():
    plain = [is_accepted(judged(row["source"], row["candidate"])) for row in ROWS]
    with_back = [is_accepted(judged(row["source"], row["candidate"], row["back"])) for row in ROWS]
    assert len(ROWS) == 150
    assert sum(plain) >= 0.97 * len(ROWS)
    assert sum(with_back) >= 0.85 * len(ROWS)


@pytest.mark.parametrize(
    ("intact", "damaged", "code"),
    [
        ("340", "430", "number_lost"),
        ("con 340 hombres", "con hombres", "number_lost"),
        ("12 de marzo", "12 de mayo", "date_changed"),
        ("el 12 de marzo de 1867, ", "", "date_lost"),
    ],
)
def test_no_paragraph_with_a_lost_number_or_date_is_accepted(accepted, intact, damaged, code):
    assert len(accepted) >= 0.97 * len(ROWS)
    for row in accepted:
        assessment = judged(row["source"] + TAIL[0], row["candidate"] + TAIL[1].replace(intact, damaged))
        assert assessment.outcome == "rework"
        assert code in {finding.code for finding in assessment.findings}


def test_no_paragraph_with_a_lost_or_damaged_address_is_accepted(accepted):
    for row in accepted:
        for damaged in ("", LINK.replace("page", "página"), LINK.replace("alice", "Alice")):
            assessment = judged(row["source"] + LINK, row["candidate"] + damaged)
            assert assessment.outcome == "rework"
            assert "policy_violation" in assessment.reasons


def test_no_paragraph_that_lost_all_its_negations_is_accepted(accepted):
    denying = [row for row in accepted if DENIALS.search(row["candidate"]) and is_denied(row["source"])]
    passed = [row for row in denying if is_accepted(judged(row["source"], DENIALS.sub("", row["candidate"])))]
    assert len(denying) >= 50
    assert passed == []


def test_the_loss_of_a_single_negation_is_mostly_seen(accepted):
    """Not all: Spanish may deny twice where English does once, and one of the two is then still there."""
    outcomes = [
        is_accepted(judged(row["source"], row["candidate"][: denial.start()] + row["candidate"][denial.end() :]))
        for row in accepted
        if is_denied(row["source"])
        for denial in DENIALS.finditer(row["candidate"])
    ]
    assert len(outcomes) >= 80
    assert sum(outcomes) <= 0.25 * len(outcomes)


def is_denied(source: str) -> bool:
    return re.search(r"\b(?:not|no|never|nothing|nobody)\b|n’t\b", source, re.IGNORECASE) is not None


def test_no_paragraph_left_in_english_is_accepted():
    long = [row["source"] for row in ROWS if len(row["source"].split()) >= 12]
    assert len(long) >= 50
    assert [source for source in long if is_accepted(judged(source, source))] == []


def test_no_paragraph_that_lost_three_quarters_of_its_text_is_accepted():
    long = [row for row in ROWS if len(row["candidate"]) >= 80]
    cut = [(row["source"], row["candidate"][: len(row["candidate"]) // 4]) for row in long]
    assert len(long) >= 50
    assert [source for source, candidate in cut if is_accepted(judged(source, candidate))] == []
