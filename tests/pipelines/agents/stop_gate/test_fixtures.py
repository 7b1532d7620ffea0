"""The fixtures of the package: at least five of each kind, and each leaves today what its manifest locks."""

import json
from collections import Counter

import pytest

from leasehold.canonical import encode
from leasehold.contracts import contract
from leasehold.pipelines.agents.runtime_state import sha256_of
from leasehold.pipelines.agents.stop_gate.locking import locked_manifest
from leasehold.pipelines.agents.stop_gate.manifest import NAME, read_manifest
from leasehold.pipelines.agents.stop_gate.replays import ENVIRONMENTS
from tests.pipelines.agents.stop_gate.gates import SHIPPED, in_this_process, small_manifest

LOCKS = [lock for _, lock in read_manifest().locks()]


def test_the_shipped_manifest_is_sound_and_has_at_least_five_fixtures_of_each_kind():
    plain = json.loads((SHIPPED / NAME).read_text())
    assert contract("stop_gate.vnext_plus9_manifest", 1).problems(plain) == []
    assert read_manifest().is_sound
    kinds = Counter(lock.path.split("/")[0] for lock in LOCKS)
    assert set(kinds) == {"dispatch", "recovery", "budget", "cancel"}
    assert min(kinds.values()) >= 5
    assert {lock.path for lock in LOCKS} == {str(path.relative_to(SHIPPED)) for path in SHIPPED.rglob("*/*.json")}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.fixture_id)
def test_s8_a_shipped_fixture_leaves_what_the_manifest_locks(lock):
    plain = json.loads((SHIPPED / lock.path).read_text())
    assert sha256_of(plain) == lock.sha256
    assert in_this_process(encode(plain), ENVIRONMENTS[0]).artifacts == lock.artifacts


def test_locking_the_same_fixtures_again_gives_the_same_manifest(tmp_path):
    path = small_manifest(tmp_path)
    assert locked_manifest(tmp_path, in_this_process) == json.loads(path.read_text())
