"""The published schemas: every field and every constraint, each broken by a row that breaks nothing else."""

import itertools
import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.contracts import Reason, contract
from tests.contracts.samples import ARTIFACTS, HASH, NAMES, OPTIONAL, REQUIRED, ROOT, SPAN, STATES, changed, full

FOLDER = ROOT / "schemas" / "translation_toolchain"
ROWS = tuple(name for name in NAMES if name != "manifest")
LONG, NEWLINE = "x" * 10_001, "\n"
TIMES = {
    "paragraph_state_row": "updated_at", "paragraph_scores_row": "scored_at", "rework_queue_row": "queued_at",
    "candidate_map_row": "selected_at", "normalized_review_row": "reviewed_at", "manifest": "created_at",
}  # fmt: skip
HASHES = (
    ("paragraph_state_row", "source_content_hash"), ("paragraph_scores_row", "candidate_content_hash"),
    ("rework_queue_row", "candidate_content_hash"), ("candidate_map_row", "source_content_hash"),
    ("candidate_map_row", "selected_candidate_hash"), ("normalized_review_row", "reviewed_candidate_hash"),
)  # fmt: skip
BAD_HASHES = (HASH[:-1], HASH + "0", HASH.upper(), HASH[7:], "sha512:" + HASH[7:], HASH + NEWLINE, "", None)
BAD_TIMES = (
    "2026-11-16", "2026-11-16T06:52:33", "2026-11-16T06:52:33+00:00", "2026-02-30T00:00:00Z", "2026-11-16T25:00:00Z",
    "2026-11-16t06:52:33z", "2026-11-16 06:52:33Z", "2026-11-16T06:52:33Z\n", "٢٠٢٦-11-16T06:52:33Z", "", 1, None,
)  # fmt: skip
BAD_IDS = ("", "x" * 201, "a\nb", "a\x00", "a\x7f", "a\x85", "run\n", 7, None)
BAD_VERSIONS = ("1.0", "1.0.0.0", "1.0.0\n", " 1.0.0", "1.٣.0", "v1.0.0", "1.0.x", "", "2.0.0", "10.0.0", 1, None)
BAD_INDICES = (0, -1, 1.5, "1", True, None, 2**53)
BAD_COUNTS = (-1, 0.5, "1", True, None, 2**53)
BAD_SCORES = (-0.001, 1.001, "0.5", True, None)
BAD_LANGUAGES = ("", "e", "en_US", "en-", "-en", "en--US", "12", "en US", "en\n", "englishlanguage", "é", 1, None)
BAD_PEOPLE = ("", "x" * 201, 1, None)
BAD_TEXTS = (LONG, 1, None, ["x"])
BAD_CODES = ("", "Lost", "1st", "number-lost", "lost\n", "é", "x" * 65, None)

EMPTY: tuple[Any, ...] = (None, [], {})

BROKEN: list[tuple[str, str, Any]] = [
    *((name, "run_id", bad) for name in NAMES for bad in BAD_IDS),
    *((name, "document_id", bad) for name in NAMES for bad in BAD_IDS),
    *((name, "schema_version", bad) for name in NAMES for bad in BAD_VERSIONS),
    *((name, "paragraph_index", bad) for name in ROWS for bad in BAD_INDICES),
    *((name, field, bad) for name, field in TIMES.items() for bad in BAD_TIMES),
    *((name, field, bad) for name, field in HASHES for bad in BAD_HASHES),
    *(("paragraph_state_row", "state", bad) for bad in ("done", "Approved", "approved\n", "", None)),
    *(("paragraph_state_row", "attempt", bad) for bad in BAD_INDICES),
    *(("paragraph_state_row", "actor", bad) for bad in BAD_PEOPLE),
    *(("paragraph_state_row", "notes", bad) for bad in BAD_TEXTS),
    *(("paragraph_scores_row", "state", bad) for bad in ("scored", None)),
    *(("paragraph_scores_row", f"scores.{name}", bad) for name in ("adequacy", "fluency") for bad in BAD_SCORES),
    *(
        ("paragraph_scores_row", f"{field}.{name}", bad)
        for field in ("scores", "thresholds")
        for name in ("terminology", "style", "composite")
        for bad in BAD_SCORES
    ),
    *(("paragraph_scores_row", field, bad) for field in ("scores", "thresholds") for bad in (*EMPTY[:2], 0.5)),
    *(("rework_queue_row", "state", bad) for bad in ("approved", "ingested", None)),
    *(("rework_queue_row", "reason_codes", bad) for bad in (*EMPTY, "low_adequacy", ["low_adequacy"] * 2)),
    *(("rework_queue_row", "reason_codes", [bad]) for bad in ("slow", None)),
    *(("rework_queue_row", "priority", bad) for bad in ("urgent", "High", 1, None)),
    *(("rework_queue_row", "details", bad) for bad in (*BAD_TEXTS, EMPTY[2])),
    *(("candidate_map_row", "target_language", bad) for bad in BAD_LANGUAGES),
    *(("candidate_map_row", "selection_outcome", bad) for bad in ("rework_required", "ingested", None)),
    *(("candidate_map_row", "selection_reason", bad) for bad in BAD_TEXTS),
    *(("normalized_review_row", "reviewer", bad) for bad in BAD_PEOPLE),
    *(("normalized_review_row", "review_outcome", bad) for bad in ("accepted", "approved", None)),
    *(("normalized_review_row", "state_after_review", bad) for bad in ("reviewed", None)),
    *(("normalized_review_row", "review_notes", bad) for bad in BAD_TEXTS),
    *(("normalized_review_row", "findings", bad) for bad in (None, EMPTY[2], ["number_lost"], [None])),
    *(("normalized_review_row", "findings.0.code", bad) for bad in BAD_CODES),
    *(("normalized_review_row", "findings.0.severity", bad) for bad in ("fatal", "low", None)),
    *(("normalized_review_row", "findings.0.message", bad) for bad in BAD_TEXTS),
    *(("normalized_review_row", "findings.0.span", bad) for bad in (None, [0, 4], 4)),
    *(("normalized_review_row", f"findings.0.span.{name}", bad) for name in SPAN for bad in BAD_COUNTS),
    *(("manifest", field, bad) for field in ("source_language", "target_language") for bad in BAD_LANGUAGES),
    *(("manifest", "pipeline_version", bad) for bad in BAD_PEOPLE),
    *(("manifest", f"artifacts.{name}", bad) for name, at in ARTIFACTS.items() for bad in ("x", f"./{at}", None)),
    *(("manifest", f"counts.{name}", bad) for name in OPTIONAL["manifest"]["counts"] for bad in BAD_COUNTS),
    *(("manifest", field, bad) for field in ("artifacts", "counts") for bad in EMPTY[:2]),
]  # fmt: skip
ABSENT = [
    *((name, field) for name in NAMES for field in REQUIRED[name]),
    *(("paragraph_scores_row", f"scores.{name}") for name in ("adequacy", "fluency")),
    *(("normalized_review_row", f"findings.0.{name}") for name in ("code", "severity", "span.start", "span.length")),
    *(("manifest", f"artifacts.{name}") for name in ARTIFACTS),
    *(("manifest", f"counts.{name}") for name in ("paragraphs_total", "paragraphs_approved", "paragraphs_rework")),
]
OBJECTS = [
    *((name, "") for name in NAMES),
    ("paragraph_scores_row", "scores."),
    ("paragraph_scores_row", "thresholds."),
    ("normalized_review_row", "findings.0."),
    ("normalized_review_row", "findings.0.span."),
    ("manifest", "artifacts."),
    ("manifest", "counts."),
]


def without(row, path):
    found = changed(row, path, None)
    place: Any = found
    *steps, last = path.split(".")
    for step in steps:
        place = place[int(step)] if step.isdigit() else place[step]
    del place[last]
    return found


def as_path(path):
    return "$" + "".join(f"[{step}]" if step.isdigit() else f".{step}" for step in path.split("."))


def problems(name, row):
    return contract(name, 1).problems(row)


def check_refused(name, row, path, code):
    """Refused, for this reason at this place and for no other."""
    found = problems(name, row)
    assert found
    assert {problem.code for problem in found} == {code}
    assert all(problem.path == path or problem.path.startswith(f"{path}[") for problem in found)
    assert not contract(name, 1).admits([row])


def check_admitted(name, row):
    assert problems(name, row) == []
    assert contract(name, 1).admits([row])


def test_the_seven_files_are_where_the_document_puts_them_and_use_its_draft():
    found = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.iterdir()}
    assert set(found) == {f"{name}.schema.json" for name in (*NAMES, "defs")}
    for name, schema in found.items():
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert schema["$id"].endswith(f"/schemas/translation_toolchain/v1/{name}")
        jsonschema_rs.meta.validate(schema)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_with_the_required_fields_alone_and_one_with_all_are_admitted(name):
    check_admitted(name, REQUIRED[name])
    check_admitted(name, full(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_samples_have_every_field_that_the_schema_knows(name):
    """So that the tests here miss none."""
    assert set(contract(name, 1).schema["properties"]) == set(full(name))
    assert set(contract(name, 1).schema["required"]) | {"attempt"} >= set(REQUIRED[name])


@pytest.mark.parametrize(("name", "path", "bad"), BROKEN)
def test_a_value_that_breaks_one_constraint_is_refused_at_its_place(name, path, bad):
    check_refused(name, changed(full(name), path, bad), as_path(path), Reason.VALUE_INVALID)


@pytest.mark.parametrize(("name", "path"), ABSENT)
def test_a_required_field_that_is_missing_is_named(name, path):
    check_refused(name, without(full(name), path), as_path(path), Reason.FIELD_MISSING)


@pytest.mark.parametrize(("name", "place"), OBJECTS)
@pytest.mark.parametrize("field", ["extra", "Schema_Version"])
def test_rule_4_unknown_fields_are_invalid_at_every_level(name, place, field):
    check_refused(name, changed(full(name), place + field, 1), as_path(place + field), Reason.FIELD_UNKNOWN)


def test_an_attempt_is_disallowed_for_ingested_and_required_for_every_other_state():
    row = full("paragraph_state_row")
    for state in STATES:
        given_one, none = row | {"state": state}, without(row | {"state": state}, "attempt")
        if state == "ingested":
            check_admitted("paragraph_state_row", none)
            check_refused("paragraph_state_row", given_one, "$.attempt", Reason.FIELD_DISALLOWED)
        else:
            check_admitted("paragraph_state_row", given_one)
            check_refused("paragraph_state_row", none, "$.attempt", Reason.FIELD_MISSING)


@pytest.mark.parametrize(
    ("name", "path", "good"),
    [
        *(("manifest", "source_language", code) for code in ("en", "en-US", "en-us", "zh-Hans", "ast", "sr-Latn-RS")),
        *(("manifest", "schema_version", version) for version in ("1.0.0", "1.12.345", "1.0.10")),
        *(("paragraph_state_row", "updated_at", f"2026-11-16T06:52:33{end}Z") for end in ("", ".5", ".123456789")),
        *(("paragraph_scores_row", "state", state) for state in STATES),
        *(("normalized_review_row", "state_after_review", state) for state in STATES),
        *(("rework_queue_row", "priority", level) for level in ("low", "medium", "high", "critical")),
        *(("candidate_map_row", "selection_outcome", outcome) for outcome in ("approved", "rejected")),
        *(("normalized_review_row", "findings.0.severity", level) for level in ("info", "minor", "major", "critical")),
        *(
            ("normalized_review_row", "review_outcome", outcome)
            for outcome in ("accept", "accept_with_notes", "rework", "reject")
        ),
        (
            "rework_queue_row",
            "reason_codes",
            [
                "low_adequacy",
                "low_fluency",
                "terminology_violation",
                "style_violation",
                "policy_violation",
                "human_flag",
            ],
        ),
        ("normalized_review_row", "findings", []),
        ("normalized_review_row", "findings.0.code", "x" * 64),
        ("normalized_review_row", "review_notes", "😀" * 10_000),
        ("manifest", "run_id", "é" * 200),
        ("paragraph_scores_row", "thresholds", {}),
        ("paragraph_scores_row", "scores", {"adequacy": 0, "fluency": 1.0}),
    ],
)
def test_a_value_at_the_edge_of_its_constraint_is_admitted(name, path, good):
    check_admitted(name, changed(full(name), path, good))


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_a_score_is_admitted_exactly_between_nought_and_one(value):
    row = changed(full("paragraph_scores_row"), "scores.composite", value)
    assert contract("paragraph_scores_row", 1).admits([row]) == (0 <= value <= 1)


@given(st.text(alphabet="0123456789abcdefABCDEF:sha٣\n", max_size=72) | st.just(HASH))
def test_a_hash_is_admitted_exactly_if_it_is_sixty_four_lower_case_digits_after_its_prefix(text):
    row = full("candidate_map_row") | {"selected_candidate_hash": text}
    prefix, digits = text[:7], text[7:]
    is_hash = prefix == "sha256:" and len(digits) == 64 and set(digits) <= set("0123456789abcdef")
    assert contract("candidate_map_row", 1).admits([row]) == is_hash


def test_every_row_breaks_its_contract_in_a_way_of_its_own():
    """Two equal cases above would count as two without showing more."""
    cases = [(name, path, repr(bad)) for name, path, bad in BROKEN]
    assert len(set(cases)) == len(cases)
    covered = {(name, path.partition(".")[0]) for name, path, _ in BROKEN}
    assert covered >= set(itertools.chain.from_iterable(((name, field) for field in full(name)) for name in NAMES))
