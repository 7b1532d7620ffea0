"""Keys of jobs and operations: the same everywhere, and the ones that the document's readers know."""

import hashlib
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.pipelines.download.idempotency import job_key, op_key

JOB = "d74be75ae5e8054c26e2f1e6f1d8a7d6bdbfce4651884d6160f21366c9b817b8"
STREAM = "a0f5389b39d50100579098f64e4b7a3205e17715a234fbb1753dd0a20495518b"
URL = "https://example.org/paper.pdf"
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(codec=None)) | st.sampled_from([2**64, -(2**63) - 1, "\ud800", "\x7f/<>"])


def test_the_two_known_keys_hold():
    assert job_key("work-123", "artifact-456", URL) == JOB
    assert job_key(work_id="work-123", artifact_id="artifact-456", canonical_url=URL) == JOB
    assert op_key("STREAM", "job-123", url=URL, range_start=0) == STREAM


def test_the_order_of_fields_does_not_matter_and_every_field_does():
    assert op_key("STREAM", "job-123", range_start=0, url=URL) == STREAM
    others = {
        op_key("HEAD", "job-123", url=URL, range_start=0),
        op_key("STREAM", "job-124", url=URL, range_start=0),
        op_key("STREAM", "job-123", url=URL, range_start=1),
        op_key("STREAM", "job-123", url=URL),
        op_key("STREAM", "job-123", url=URL, range_start="0"),
    }
    assert len(others - {STREAM}) == 5


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_a_key_is_the_same_in_another_process(seed):
    code = f"from leasehold.pipelines.download.idempotency import *; print(job_key('work-123','artifact-456','{URL}'))"
    ran = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "LC_ALL": "C"}, capture_output=True, check=True
    )
    assert ran.stdout.decode().strip() == JOB


@given(st.text(), st.text(), st.text())
def test_any_text_has_a_key_of_its_own(work, artifact, url):
    found = job_key(work, artifact, url)
    assert len(found) == 64
    assert job_key(work + "x", artifact, url) != found


@pytest.mark.parametrize("name", ["v", "kind", "job_id"])
def test_a_field_cannot_take_the_place_of_a_part_of_the_key(name):
    with pytest.raises((ValueError, TypeError)):
        op_key("STREAM", "job-123", **{name: "x"})


def test_what_is_no_json_has_no_key():
    for value in (float("nan"), b"x", object()):
        with pytest.raises((ValueError, TypeError)):
            op_key("STREAM", "job-123", value=value)


@given(
    st.dictionaries(st.from_regex(r"\A[a-z]{1,8}\Z").filter(lambda name: name not in {"v", "kind"}), scalars | texts)
)
def test_a_key_is_made_of_the_same_text_whatever_writes_it(fields):
    fields_of_key = {"v": 1, "kind": "STREAM", "job_id": "job", **fields}
    text = json.dumps(fields_of_key, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert op_key("STREAM", "job", **fields) == hashlib.sha256(text.encode()).hexdigest()
