"""The contract of a review: what is rejected, coerced and dropped, in which order, and what is reported of it."""

import json
import re
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.contracts import contract
from leasehold.pipelines.review.contract import (
    CoercionApplied,
    ExpectedVersions,
    FieldDropped,
    FindingDropped,
    ParseWarning,
    ReasonCode,
    ResponseRejected,
    VersionInvalid,
    parse_review,
    plain,
)
from leasehold.redact import Policy, RedactionFailed, Redactor
from tests.pipelines.review.responses import CHANGED, EXPECTED, FINDING, FULL, RESPONSE, documents, response
from tests.support.properties import examples

SCHEMA = contract("review_result", 1).schema
VALIDATOR = contract("review_result", 1).validator
WARNING = ParseWarning(ReasonCode.ALL_FINDINGS_DROPPED)


def parse(text, expected=EXPECTED) -> Any:
    return parse_review(text, CHANGED, expected)


def rejection(text, expected=EXPECTED):
    found = parse(text, expected)
    assert found.result is None
    last = found.diagnostics[-1]
    assert isinstance(last, ResponseRejected)
    return str(last.code), last.field


def dropped(finding):
    """Return the reason and the field for which one finding is dropped; the one before it stays."""
    found = parse(response(FINDING, finding))
    assert [kept.plain() for kept in found.result.findings] == [FINDING]
    [drop] = [each for each in found.diagnostics if isinstance(each, FindingDropped)]
    assert drop.index == 1
    return str(drop.code), drop.field


def without(fields, name):
    return {key: value for key, value in fields.items() if key != name}


def test_a_response_in_order_is_given_back_as_it_is_and_without_diagnostics():
    whole = {**RESPONSE, "findings": [FINDING, FULL], "summary": "Two.", "meta": {"model": "m", "n": [1, None]}}
    found = parse(json.dumps(whole).encode())
    assert found.result.plain() == whole
    assert found.diagnostics == ()


def test_a_clean_review_is_no_warning():
    assert parse(response()).diagnostics == ()
    assert parse(response()).result.findings == ()


def test_only_dropped_findings_make_an_empty_result_a_warning():
    found = parse(response({**FINDING, "line": 0}, 1))
    assert found.result.findings == ()
    assert found.diagnostics[-1] == WARNING
    assert WARNING not in parse(response(FINDING, 1)).diagnostics


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "invalid_json"),
        (b"\xff{}", "invalid_json"),
        ("{", "invalid_json"),
        (f"```json\n{response()}\n```", "invalid_json"),
        (f"Here is the review: {response()}", "invalid_json"),
        (f"{response()} I hope this helps!", "invalid_json"),
        (f"\x1b[1m{response()}\x1b[0m", "invalid_json"),
        (response().replace("[]", "NaN"), "invalid_json"),
        (response(meta=float("-inf")), "invalid_json"),
        (response().replace("[]", "[1e999]"), "invalid_json"),
        ('{"summary": "a\tb"}', "invalid_json"),
        ("[" * 100_000, "invalid_json"),
        ('{"findings":' * 100_000, "invalid_json"),
        (f'{{"findings": {"[" * 100_000}{"]" * 100_000}}}', "invalid_json"),
        ("9" * 5_000, "schema_mismatch"),
        ("[" + response() + "]", "schema_mismatch"),
        ("null", "schema_mismatch"),
        (response().replace('"findings": []', '"findings": [], "findings": []'), "duplicate_key"),
        ("x" * 50_000_000, "response_too_large"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_hostile_output_is_rejected_and_never_raises(text, reason):
    assert rejection(text) == (reason, None)


@pytest.mark.parametrize(
    ("changes", "reason", "field"),
    [
        *(({name: None}, "missing_required_field", name) for name in RESPONSE),
        ({"schema_version": 1.0}, "schema_mismatch", "schema_version"),
        ({"schema_version": "1"}, "schema_mismatch", "schema_version"),
        ({"schema_version": "\u0661.0"}, "schema_mismatch", "schema_version"),
        ({"prompt_version": "v1.0.0"}, "schema_mismatch", "prompt_version"),
        ({"findings": {}}, "schema_mismatch", "findings"),
        ({"findings": [1] * 10_001}, "response_too_large", "findings"),
        ({"summary": ["x"]}, "schema_mismatch", "summary"),
        ({"summary": "\ud800"}, "schema_mismatch", "summary"),
        ({"meta": []}, "schema_mismatch", "meta"),
        ({"extra": 1}, "schema_mismatch", "extra"),
        ({"schema_version": "2.0", "extra": 1}, "incompatible_version", "schema_version"),
        ({"schema_version": "0.9"}, "incompatible_version", "schema_version"),
        ({"schema_version": f"{'9' * 5_000}.0"}, "incompatible_version", "schema_version"),
        ({"prompt_version": "1.0.1"}, "incompatible_version", "prompt_version"),
        ({"prompt_version": "1.0"}, "incompatible_version", "prompt_version"),
        ({"prompt_version": "2.0.0", "findings": [1]}, "incompatible_version", "prompt_version"),
    ],
)
def test_a_response_whose_top_level_is_not_as_it_must_be_is_rejected_whole(changes, reason, field):
    fields = {name: value for name, value in {**RESPONSE, **changes}.items() if value is not None}
    assert rejection(json.dumps(fields)) == (reason, field)


def test_a_newer_minor_version_is_read_and_what_only_it_knows_is_left_out():
    newer = response({**FINDING, "cwe": 601}, {**FINDING, "severity": "blocker"}, schema_version="1.3", model="m")
    found = parse(newer)
    assert [kept.plain() for kept in found.result.findings] == [FINDING]
    assert found.result.schema_version == "1.3"
    assert [(plain(each)["kind"], each.field, str(each.code)) for each in found.diagnostics] == [
        ("field_dropped", "model", "unknown_field"),
        ("field_dropped", "cwe", "unknown_field"),
        ("finding_dropped", "severity", "invalid_enum_value"),
    ]


def test_a_schema_version_is_the_expected_one_or_a_newer_minor_of_it():
    later = ExpectedVersions("1.0.0", "1.2")
    for version in ("1.2", "1.3", "1.10"):
        assert parse(response(schema_version=version), later).result
    for version in ("1.1", "2.3", "01.2"):
        assert rejection(response(schema_version=version), later) == ("incompatible_version", "schema_version")


def test_the_patch_of_a_prompt_version_may_drift_as_far_as_is_configured():
    drifting = ExpectedVersions("1.2.3", patch_drift=2)
    for version in ("1.2.3", "1.2.1", "1.2.5"):
        assert parse(response(prompt_version=version), drifting).result
    for version in ("1.2.6", "1.2", "1.3.3", "2.2.3"):
        assert rejection(response(prompt_version=version), drifting)[0] == "incompatible_version"
    for wrong in (("1",), ("1.0.0", "1"), ("1.0.0", "1.0", -1)):
        with pytest.raises(VersionInvalid):
            ExpectedVersions(*wrong)


@pytest.mark.parametrize(
    ("finding", "reason", "field"),
    [
        *((without(FINDING, name), "missing_required_field", name) for name in FINDING),
        *(({**FULL, name: "High"}, "invalid_enum_value", name) for name in ("severity", "category", "confidence")),
        *(({**FULL, name: ["high"]}, "schema_mismatch", name) for name in ("severity", "category", "confidence")),
        *(({**FULL, name: "  "}, "schema_mismatch", name) for name in ("id", "title", "file", "message")),
        *(({**FULL, name: None}, "schema_mismatch", name) for name in FULL),
        *(({**FULL, name: bad}, "invalid_line_range", name) for name in ("line", "end_line") for bad in (0, -1, "-7")),
        *(({**FULL, "line": bad}, "schema_mismatch", "line") for bad in (True, "\u00b2", "7.5", 7.5, "", "1_0", [7])),
        ({**FULL, "line": 10**30}, "invalid_line_range", "line"),
        ({**FULL, "line": "9" * 5_000}, "schema_mismatch", "line"),
        ({**FULL, "line": 9, "end_line": 8}, "invalid_line_range", "end_line"),
        ({**FULL, "title": "a\0b"}, "schema_mismatch", "title"),
        ({**FULL, "message": "\ud800"}, "schema_mismatch", "message"),
        ({**FULL, "extra": 1}, "schema_mismatch", "extra"),
        ("F1", "schema_mismatch", None),
        ([FINDING], "schema_mismatch", None),
    ],
)
def test_a_finding_that_breaks_the_contract_is_dropped_alone_with_the_reason(finding, reason, field):
    assert dropped(finding) == (reason, field)


def test_a_finding_with_a_key_twice_is_dropped_alone():
    twice = json.dumps(FINDING)[:-1] + ', "severity": "info"}'
    found = parse(response(FINDING, "HERE").replace('"HERE"', twice))
    assert [kept.plain() for kept in found.result.findings] == [FINDING]
    assert found.diagnostics == (FindingDropped(1, ReasonCode.DUPLICATE_KEY, None, "F1", "src/app.py", 7),)


@pytest.mark.parametrize(
    "meta", ['{"a": 1, "a": 2}', '{"a": [{"b": 1, "b": 2}]}', f'{{"a": {"9" * 30}}}', '{"a": "\\u0000"}']
)
def test_meta_that_nobody_could_store_is_left_out_and_the_findings_stay(meta):
    found = parse(response(FINDING, meta={}).replace('"meta": {}', f'"meta": {meta}'))
    assert found.result.meta is None
    assert len(found.result.findings) == 1
    assert found.diagnostics == (FieldDropped(None, "meta", ReasonCode.SCHEMA_MISMATCH),)


def test_safe_values_are_normalized_and_every_change_is_reported():
    crooked = {
        **FULL, "id": " F1\n", "severity": "high ", "file": " .\\src\\app.py", "line": " 10 ", "end_line": 12.0,
        "message": FULL["message"] + "\t",
    }  # fmt: skip
    found = parse(response(crooked, schema_version=" 1.0 ", summary="x "))
    assert found.result.findings[0].plain() == {**FULL, "line": 10, "end_line": 12}
    assert (found.result.schema_version, found.result.summary) == ("1.0", "x")
    assert found.diagnostics == (
        CoercionApplied(None, "schema_version", " 1.0 ", "1.0"),
        CoercionApplied(None, "summary", "x ", "x"),
        CoercionApplied("F1", "id", " F1\\n", "F1"),
        CoercionApplied("F1", "severity", "high ", "high"),
        CoercionApplied("F1", "file", " .\\src\\app.py", "./src/app.py"),
        CoercionApplied("F1", "line", " 10 ", "10"),
        CoercionApplied("F1", "message", FULL["message"] + "\\t", FULL["message"]),
        CoercionApplied("F1", "end_line", "12.0", "12"),
        CoercionApplied("F1", "file", "./src/app.py", "src/app.py"),
    )


def test_every_finding_is_validated_before_the_first_is_reconciled():
    found = parse(response({**FINDING, "file": "./src/app.py"}, {**FINDING, "file": "x"}, {**FINDING, "line": 0}))
    assert [plain(each)["kind"] for each in found.diagnostics] == [
        "finding_dropped",
        "coercion_applied",
        "finding_dropped",
    ]
    assert [each.index for each in found.diagnostics if isinstance(each, FindingDropped)] == [2, 1]


def test_s16_no_diagnostic_shows_a_secret_or_acts_on_a_terminal():
    secret = "password=hunter2-hunter2"  # noqa: S105 — it is one on purpose
    crooked = {**FINDING, "id": f"{secret} ", "title": f"\x1b[2J{secret} ", "file": f"{secret}\\x", secret: 1}
    shown = repr(
        [plain(each) for each in parse(response(crooked, {**FINDING, "message": "x" * 9_999 + " "})).diagnostics]
    )
    assert "hunter2" not in shown
    assert "[REDACTED:password#1]" in shown
    assert "\x1b" not in shown
    assert "(10,000 characters)" in shown


class Failing(Redactor):
    """A redactor that meets a text it cannot clean."""

    def redact(self, text):
        raise RedactionFailed


def test_s16_a_value_that_cannot_be_redacted_is_not_shown():
    found = parse_review(response({**FINDING, "title": " raw "}), CHANGED, EXPECTED, Failing(Policy()))
    assert found.diagnostics == (
        CoercionApplied("(cannot be shown)", "title", "(cannot be shown)", "(cannot be shown)"),
    )


@pytest.mark.parametrize("path", ["src/app.py", "./src/app.py", "././src/app.py", ".//src/app.py", "src\\app.py"])
def test_a_finding_is_reconciled_with_the_changed_file_that_it_names(path):
    assert [kept.file for kept in parse(response({**FINDING, "file": path})).result.findings] == ["src/app.py"]


@pytest.mark.parametrize(
    "path",
    ["app.py", "/src/app.py", "src/app.py/", "SRC/app.py", "src/app.pyc", "src/./app.py", "src/x/../app.py",
     "../src/app.py", "a/src/app.py", "src//app.py", ".src/app.py", "depot/projectA/main.c"],
)  # fmt: skip
def test_a_finding_whose_file_was_not_changed_is_dropped_with_its_place(path):
    found = parse(response({**FINDING, "file": path}))
    drop = FindingDropped(0, ReasonCode.FILE_NOT_IN_CHANGED_FILES, "file", "F1", path, 7)
    assert found.diagnostics == (drop, WARNING)


def test_the_published_schema_is_the_one_of_the_document():
    finding = SCHEMA["properties"]["findings"]["items"]
    assert SCHEMA["required"] == ["schema_version", "prompt_version", "findings"]
    assert finding["required"] == list(FINDING)
    assert set(finding["properties"]) == set(FULL)
    assert SCHEMA["properties"]["meta"] == {"type": "object", "additionalProperties": True}
    assert finding["additionalProperties"] is SCHEMA["additionalProperties"] is False
    assert SCHEMA["$id"].endswith("/schemas/review/v1/review_result.schema.json")
    jsonschema_rs.meta.validate(SCHEMA)


def tidied(fields):
    """Return a response or a finding after the three normalizations of the document, written a second time."""
    if not isinstance(fields, dict):
        return fields
    found = {name: value.strip() if isinstance(value, str) else value for name, value in fields.items()}
    if isinstance(found.get("file"), str):
        found["file"] = found["file"].replace("\\", "/")
    for name in {"line", "end_line"} & found.keys():
        if isinstance(found[name], str) and re.fullmatch("-?[0-9]+", found[name]):
            found[name] = int(found[name])
    return found


def is_valid(finding):
    """Return whether a finding obeys the schema and the one rule that a schema cannot express."""
    obeys = VALIDATOR.is_valid({**RESPONSE, "findings": [finding]})
    return obeys and finding.get("end_line", finding["line"]) >= finding["line"]


def check_agreement(document):
    """Compare the parser with the schema: on the whole, on each finding, and on what comes out."""
    found = parse(json.dumps(document))
    head = {**tidied(document), "findings": [] if isinstance(document.get("findings"), list) else 1}
    is_expected = (head.get("schema_version"), head.get("prompt_version")) == ("1.0", "1.0.0")
    assert (found.result is not None) == (VALIDATOR.is_valid(head) and is_expected), document
    if found.result is None:
        return "rejected"
    assert VALIDATOR.is_valid(found.result.plain())
    drops = [each for each in found.diagnostics if isinstance(each, FindingDropped)]
    refused = {each.index for each in drops if each.code is not ReasonCode.FILE_NOT_IN_CHANGED_FILES}
    findings = [tidied(finding) for finding in document["findings"]]
    assert refused == {index for index, finding in enumerate(findings) if not is_valid(finding)}, document
    return "changed" if found.diagnostics else "clean"


def test_the_parser_and_the_published_schema_agree_on_generated_documents():
    seen = [check_agreement(document) for document in documents(19, examples(1_000))]
    assert min(map(seen.count, ("rejected", "clean", "changed"))) > len(seen) / 20


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
mutilated = st.tuples(
    st.sampled_from([response(FULL, FINDING, meta={"a": 1})]),
    st.integers(0, 600),
    st.integers(0, 9),
    st.text(max_size=4),
)


@settings(max_examples=examples(100))
@given(
    st.binary()
    | st.text()
    | json_values.map(json.dumps)
    | mutilated.map(lambda cut: cut[0][: cut[1]] + cut[3] + cut[0][cut[1] + cut[2] :])
)
def test_whatever_comes_gives_a_result_that_obeys_the_schema_or_a_rejection(text):
    found = parse(text)
    if found.result is None:
        assert isinstance(found.diagnostics[-1], ResponseRejected)
    else:
        assert VALIDATOR.is_valid(found.result.plain())
    assert all(json.dumps(plain(each)) for each in found.diagnostics)
