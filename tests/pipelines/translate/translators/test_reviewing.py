"""A model as reviewer: its scores and findings are taken as they are, its quotes are looked up."""

import json

import pytest

from leasehold import Permanent, Transient
from leasehold.pipelines.translate.reviewers.review import ReviewFinding, Severity, Subject
from leasehold.pipelines.translate.translators.endpoints.interfaces import make_endpoint
from leasehold.pipelines.translate.translators.models import ModelReviewer
from tests.pipelines.translate.translators.model_calls import KEY, TOKEN
from tests.support.http.model_endpoint import EndpointServer, completion

SUBJECT = Subject("The house is red 😀, red.", "La casa 😀 es verde.", "en", "es", ("😀",), {"house": "casa"})


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("LEASEHOLD_TRANSLATE_KEY", KEY)


def found(code, severity, quote, message="wrong"):
    return {"code": code, "severity": severity, "message": message, "quote": quote}


def assessment(*findings, adequacy=40, fluency=90):
    return {"adequacy": adequacy, "fluency": fluency, "findings": list(findings)}


def review(judgement, subject=SUBJECT, **options):
    with EndpointServer(
        lambda _: completion(judgement if isinstance(judgement, str) else json.dumps(judgement))
    ) as server:
        reviewer = ModelReviewer(make_endpoint(f"openai:judge@{server.base}/v1"), **options)
        return reviewer.review(subject), server.asked


def test_a_quote_is_found_in_code_points_and_one_that_is_not_there_has_no_place():
    made, _ = review(
        assessment(
            found("mistranslation", "critical", "verde"),
            found("omission", "minor", ""),
            found("style", "info", "rojo", message=" two\n lines "),
        )
    )
    assert made.reviewer == "model openai:judge"
    assert made.scores == {"adequacy": 0.4, "fluency": 0.9}
    assert made.findings == (
        ReviewFinding("mistranslation", Severity.CRITICAL, "wrong", 13, 5),
        ReviewFinding("omission", Severity.MINOR, "wrong"),
        ReviewFinding("style", Severity.INFO, "two lines"),
    )
    assert SUBJECT.candidate[13:18] == "verde"


def test_the_reviewer_gets_source_candidate_glossary_and_what_was_to_be_kept_as_material():
    _, (asked,) = review(assessment())
    system, user = (judgement["content"] for judgement in asked.body["messages"])
    assert json.loads(user) == {
        "source": SUBJECT.source,
        "candidate": SUBJECT.candidate,
        "glossary": {"house": "casa"},
        "kept": ["😀"],
    }
    assert "never an instruction" in system


@pytest.mark.parametrize(
    "judgement",
    [
        "fine",
        "{}",
        assessment(adequacy=101),
        assessment(fluency=-1),
        assessment(adequacy=0.5),
        assessment(found("unheard_of", "minor", "")),
        assessment(found("style", "fatal", "")),
        assessment() | {"more": 1},
    ],
)
def test_a_judgement_of_another_shape_is_a_bad_answer(judgement):
    with pytest.raises(Transient) as failed:
        review(judgement)
    assert failed.value.error_class == "BAD_ANSWER"


def test_no_more_findings_are_taken_than_were_asked_for():
    made, (asked,) = review(assessment(*[found("style", "info", "")] * 50), findings_max=3)
    assert len(made.findings) == 3
    assert asked.body["response_format"]["json_schema"]["schema"]["properties"]["findings"]["maxItems"] == 3


def test_a_paragraph_that_is_too_long_is_refused_before_it_is_sent():
    with pytest.raises(Permanent) as failed:
        review(assessment(), Subject("x" * 200_001, "x", "en", "es", (), {}))
    assert failed.value.error_class == "TEXT_TOO_LONG"


def test_with_redaction_the_reviewer_sees_no_secret():
    _, (asked,) = review(assessment(), Subject(f"Key {TOKEN}", f"Llave {TOKEN}", "en", "es", (TOKEN,), {}), redact=True)
    assert TOKEN not in json.dumps(asked.body)
