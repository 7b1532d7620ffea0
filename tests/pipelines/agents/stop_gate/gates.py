"""Manifests for tests: a few of the shipped fixtures, changed where a test wants that, and locked again."""

import json
import tempfile
from pathlib import Path

from leasehold.canonical import parse
from leasehold.pipelines.agents.stop_gate.execution import execute, hashes
from leasehold.pipelines.agents.stop_gate.fixture import read_fixture
from leasehold.pipelines.agents.stop_gate.manifest import HASH_KEY, NAME, manifest_hash, shipped_folder
from leasehold.pipelines.agents.stop_gate.replays import FixtureReplay

SHIPPED = Path(str(shipped_folder()))
CHOSEN = ("dispatch/starts_in_another_order", "recovery/torn_last_line", "budget/goes_on_after_restart")


def small_manifest(folder):
    """Copy one fixture of each metric, and lock them as the package does; return the manifest's path."""
    plain = json.loads((SHIPPED / NAME).read_text())
    for locks in plain["metrics"].values():
        locks[:] = [lock for lock in locks if lock["path"].removesuffix(".json") in CHOSEN]
        for lock in locks:
            (folder / lock["path"]).parent.mkdir(exist_ok=True)
            (folder / lock["path"]).write_text((SHIPPED / lock["path"]).read_text())
    return write(folder / NAME, plain)


def write(path, plain):
    """Write a manifest with the hash that it should declare."""
    path.write_text(json.dumps(plain | {HASH_KEY: manifest_hash(plain)}))
    return path


def in_this_process(text, environment):
    """Execute a fixture here: for tests of what the gate makes of replays."""
    with tempfile.TemporaryDirectory() as folder:
        return FixtureReplay(hashes(execute(read_fixture(parse(text), "fixture"), Path(folder))))
