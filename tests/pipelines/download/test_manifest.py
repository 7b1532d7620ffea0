"""Manifests are taken whole or refused with every line that is wrong."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.pipelines.download.manifest import Artifact, ManifestInvalid, read_manifest

GOOD = {"work_id": "w", "artifact_id": "a", "url": "https://example.org/a.pdf"}


def lines(*objects):
    return [json.dumps(one) if isinstance(one, dict) else one for one in objects]


def test_json_lines_and_plain_addresses_may_stand_together():
    found = read_manifest(
        lines("# what I want", "", GOOD, "HTTPS://EXAMPLE.org/b.pdf#top", GOOD | {"artifact_id": 7, "sha256": "A" * 64})
    )
    assert found == [
        Artifact("w", "a", "https://example.org/a.pdf"),
        Artifact("example.org", "https://example.org/b.pdf", "https://example.org/b.pdf"),
        Artifact("w", "7", "https://example.org/a.pdf", "a" * 64),
    ]


def test_the_same_artifact_twice_is_one():
    assert len(read_manifest(lines(GOOD, GOOD | {"url": "https://EXAMPLE.org:443/./a.pdf"}))) == 1


def test_the_same_artifact_with_another_hash_is_a_contradiction():
    with pytest.raises(ManifestInvalid, match=r"line 2: .* another sha256"):
        read_manifest(lines(GOOD, GOOD | {"sha256": "0" * 64}))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "neither an address nor a JSON object"),
        ("[1]", "http:// or https://"),
        ("{}", "'work_id' is missing"),
        (GOOD | {"url": 7}, "'url' is a text"),
        (GOOD | {"url": "ftp://x/"}, "http:// or https://"),
        (GOOD | {"work_id": ""}, "'work_id' is a text"),
        (GOOD | {"work_id": True}, "'work_id' is a text"),
        (GOOD | {"artifact_id": "x" * 513}, "'artifact_id' is a text"),
        (GOOD | {"filename": "a\nb"}, "'filename' is a text"),
        (GOOD | {"sha256": "xyz"}, "64 hexadecimal"),
        (GOOD | {"sha265": "0" * 64}, "unknown field 'sha265'"),
        ("x" * 70_000, "limit"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_with_its_reason(line, reason):
    with pytest.raises(ManifestInvalid) as refused:
        read_manifest(lines(GOOD, line))
    (fault,) = refused.value.faults
    assert fault.startswith("line 2: ")
    assert reason in fault


def test_every_fault_is_reported_at_once_and_not_too_many_are_printed():
    with pytest.raises(ManifestInvalid) as refused:
        read_manifest(["nonsense"] * 50)
    assert len(refused.value.faults) == 50
    assert str(refused.value).count("\n") == 20
    assert "30 more" in str(refused.value)


@given(st.lists(st.text(max_size=80), max_size=5))
def test_nonsense_is_refused_and_never_breaks_the_reader(texts):
    try:
        found = read_manifest(texts)
    except ManifestInvalid:
        return
    assert all(isinstance(one, Artifact) for one in found)
