"""An effect's key: the same for the same kind, task and fields, on any machine."""

import hashlib
import json

import pytest

from leasehold.model.effect import intend
from leasehold.model.lease import Lease
from tests.store.work import claim, pipeline, stage, submit

FIELDS = [{}, {"i": 1}, {"b": 1.5, "a": None}, {"ü": '€\n"\\', "nested": {"z": [1, {"y": False}], "a": ""}}]


def key_of(lease: Lease, fields: dict) -> str:
    """Computed independently, with another JSON library."""
    task = {"key": lease.key, "kind": lease.kind, "stage": lease.stage, "segment": lease.segment}
    found = {name: value for name, value in task.items() if value is not None}
    document = {"v": 1, "kind": "SEND.IT-2", "task": found, "fields": fields}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("fields", FIELDS)
def test_a_key_is_the_digest_of_one_canonical_document(store, worker, fields):
    submit(store, 'a "key" of ours\\', "plain")
    pipeline(store, "film", stage("one"))
    leases = claim(store, worker, routes=("a", "film/one"))
    assert len(leases) >= 2
    for lease in leases:
        assert intend(lease, "SEND.IT-2", fields, 1).key == key_of(lease, fields)
