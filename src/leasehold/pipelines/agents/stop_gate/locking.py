"""Locking: a manifest of the fixtures in a folder, with the hashes of what they leave now.

    python -m leasehold.pipelines.agents.stop_gate.locking FOLDER

`dispatch/`, `recovery/`, `budget/` and `cancel/` of the folder have the fixtures. Who locks states that what they leave
is right; the gate only finds out whether they still leave it.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

from leasehold.canonical import encode
from leasehold.pipelines.agents.errors import StopGateInputInvalid
from leasehold.pipelines.agents.runtime_state import sha256_of
from leasehold.pipelines.agents.stop_gate.fixture import read_fixture
from leasehold.pipelines.agents.stop_gate.manifest import (
    HASH_KEY,
    MANIFEST_SCHEMA,
    NAME,
    MetricName,
    manifest_hash,
    read_json,
)
from leasehold.pipelines.agents.stop_gate.replays import ENVIRONMENTS, Execute, execute_in_process

FOLDERS: Final = {
    MetricName.SCHEDULER_DISPATCH: ("dispatch",),
    MetricName.ORPHAN_LEASE: ("recovery",),
    MetricName.BUDGET_CANCEL: ("budget", "cancel"),
}


def locked_manifest(folder: Path, execute: Execute = execute_in_process) -> dict[str, Any]:
    """Execute every fixture once, and return a manifest that locks what it left."""
    metrics = {
        metric.value: [
            _lock(folder, path, execute) for home in homes for path in sorted((folder / home).glob("*.json"))
        ]
        for metric, homes in FOLDERS.items()
    }
    found: dict[str, Any] = {"schema": MANIFEST_SCHEMA, "metrics": metrics}
    return found | {HASH_KEY: manifest_hash(found)}


def _lock(folder: Path, path: Path, execute: Execute) -> dict[str, Any]:
    name = path.relative_to(folder).as_posix()
    plain = read_json(folder, name)
    fixture = read_fixture(plain, name)
    left = execute(encode(plain), ENVIRONMENTS[0])
    if left.error:
        raise StopGateInputInvalid(f"{name}: {left.error}", file=name)
    named = {"fixture_id": fixture.fixture_id, "path": name}
    return {**named, "sha256": sha256_of(plain), "artifacts": dict(left.artifacts)}


if __name__ == "__main__":
    home = Path(sys.argv[1])
    (home / NAME).write_text(json.dumps(locked_manifest(home), indent=2) + "\n", encoding="utf-8")
