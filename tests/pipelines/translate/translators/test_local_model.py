"""A real model on this machine drives the OpenAI-compatible path from end to end. Its answers are nonsense.

Transport, the answer's schema, token counts and time-outs are real; the answers are the same twice.
"""

import subprocess
import sys

import psutil
import pytest

from leasehold import Transient
from leasehold.pipelines.translate.reviewers.review import Severity, Subject
from leasehold.pipelines.translate.translators import make_translator
from leasehold.pipelines.translate.translators.endpoints.endpoint import ExchangeLimits
from leasehold.pipelines.translate.translators.endpoints.interfaces import make_endpoint
from leasehold.pipelines.translate.translators.models import ModelReviewer, ModelTranslator
from leasehold.pipelines.translate.translators.translator import TranslationRequest
from tests.pipelines.translate.translators.call_log import LoggedTranslator
from tests.support.wait import until
from tests.tidy.tree import ROOT

HELLO = TranslationRequest("Good day.", "en", "es", glossary={"day": "día"}, style="Be brief.")
OWNER = """
import sys
from tests.support.http.local_model import LocalModel
model = LocalModel()
print(model.pid, flush=True)
sys.stdin.read()
"""


def test_a_real_model_translates_by_the_schema_and_counts_its_tokens(local_model, tmp_path):
    made = LoggedTranslator(make_translator(local_model.spec), tmp_path / "calls.jsonl")
    made.check("en", "es")
    first, second = made.translate(HELLO), made.translate(HELLO)
    assert first.text.strip()
    assert first.translator == "openai:smollm2"
    assert first.tokens_in is not None
    assert first.tokens_out is not None
    assert first.tokens_in > 100
    assert 3 < first.tokens_out < 400
    assert second == first
    assert (tmp_path / "calls.jsonl").read_text().count("\n") == 2


def test_a_real_model_reviews_by_the_schema(local_model):
    reviewer = ModelReviewer(make_endpoint(local_model.spec), findings_max=1)
    review = reviewer.review(Subject("Good day.", "Buen día.", "en", "es", (), {}))
    assert review.scores.keys() == {"adequacy", "fluency"}
    assert all(0 <= score <= 1 for score in review.scores.values())
    assert len(review.findings) <= 1
    assert all(isinstance(finding.severity, Severity) for finding in review.findings)


def test_a_mark_that_a_real_model_loses_is_noticed(local_model):
    """It is too small to keep twenty marks: were it ever to keep them, the answer would be right."""
    marks = " ".join(f"⟦{number}⟧" for number in range(1, 21))
    with pytest.raises(Transient) as failed:
        make_translator(local_model.spec).translate(TranslationRequest(f"Go {marks}", "en", "es"))
    assert failed.value.error_class == "BAD_ANSWER"


def test_a_real_model_that_takes_too_long_is_given_up(local_model):
    made = ModelTranslator(make_endpoint(local_model.spec, ExchangeLimits(response_seconds=0.2)))
    with pytest.raises(Transient) as failed:
        made.translate(TranslationRequest("Once upon a time there was a house. " * 5, "en", "es"))
    assert failed.value.error_class == "ENDPOINT_TIMEOUT"


def test_the_model_ends_with_the_process_that_started_it():
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        model = psutil.Process(int(owner.stdout.readline()))
        owner.kill()
    until(lambda: not model.is_running() or model.status() == psutil.STATUS_ZOMBIE)
