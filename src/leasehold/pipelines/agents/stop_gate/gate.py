"""The gate: a fixture passes when all of its replays leave the bytes that the manifest locks; all must pass.

Nothing but the fixtures of the manifest is looked at: no session that ran, and nobody's database.
"""

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from leasehold.canonical import encode
from leasehold.contracts import contract
from leasehold.pipelines.agents.errors import StopGateInputInvalid
from leasehold.pipelines.agents.event_reports.reading import CONTRACT
from leasehold.pipelines.agents.stop_gate.fixture import read_fixture
from leasehold.pipelines.agents.stop_gate.manifest import FixtureLock, MetricName, StopGateManifest, read_json
from leasehold.pipelines.agents.stop_gate.replays import (
    ENVIRONMENTS,
    REPLAY_COUNT,
    Execute,
    FixtureReplay,
    execute_in_process,
)

THRESHOLD: Final = 100.0


class FixtureFault(StrEnum):
    """Why a fixture did not pass."""

    FIXTURE_CHANGED = "fixture_changed"
    REPLAY_FAILED = "replay_failed"
    REPLAYS_DIFFER = "replays_differ"
    LOCK_DIFFERS = "lock_differs"


@dataclass(frozen=True, slots=True)
class FixtureResult:
    """What came of one fixture."""

    metric: MetricName
    lock: FixtureLock
    replays: Sequence[FixtureReplay]
    fault: FixtureFault | None


@dataclass(frozen=True, slots=True)
class GateResult:
    """What came of all fixtures. With a manifest that is not sound there are none, and no metric has a value."""

    manifest: StopGateManifest
    results: Sequence[FixtureResult]

    def metrics(self) -> dict[MetricName, float]:
        """Return the share of fixtures that passed, in percent."""
        return {metric: self._share(metric) for metric in MetricName} if self.manifest.is_sound else {}

    def _share(self, metric: MetricName) -> float:
        faults = [result.fault for result in self.results if result.metric is metric]
        return 100.0 * faults.count(None) / len(faults)

    @property
    def has_passed(self) -> bool:
        found = self.metrics()
        return bool(found) and all(share == THRESHOLD for share in found.values())


def run_gate(manifest: StopGateManifest, execute: Execute = execute_in_process) -> GateResult:
    """Execute every fixture of a sound manifest in every environment. One that was changed is not executed."""
    if not manifest.is_sound:
        return GateResult(manifest, ())
    contract(CONTRACT, 1)  # without the extra no replay could read events: that is no finding about them
    listed = [(metric, lock, _text_of(manifest, lock)) for metric, lock in manifest.locks()]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        begun = [
            [pool.submit(execute, text, environment) for environment in ENVIRONMENTS] if _is_locked(lock, text) else []
            for _, lock, text in listed
        ]
        replays = [[each.result() for each in futures] for futures in begun]
    judged = zip(listed, replays, strict=True)
    return GateResult(
        manifest, [FixtureResult(metric, lock, found, judge(lock, found)) for (metric, lock, _), found in judged]
    )


def judge(lock: FixtureLock, replays: Sequence[FixtureReplay]) -> FixtureFault | None:
    """Return what is wrong with the replays of a fixture; without any, the fixture was changed."""
    if not replays:
        return FixtureFault.FIXTURE_CHANGED
    if len(replays) != REPLAY_COUNT or any(replay.error for replay in replays):
        return FixtureFault.REPLAY_FAILED
    if any(replay.artifacts != replays[0].artifacts for replay in replays):
        return FixtureFault.REPLAYS_DIFFER
    return None if replays[0].artifacts == lock.artifacts else FixtureFault.LOCK_DIFFERS


def _text_of(manifest: StopGateManifest, lock: FixtureLock) -> str:
    """Return a fixture as canonical JSON; one that cannot be executed is refused before any is."""
    plain = read_json(manifest.folder, lock.path)
    if read_fixture(plain, lock.path).fixture_id != lock.fixture_id:
        raise StopGateInputInvalid(f"{lock.path} is not {lock.fixture_id}.", file=lock.path)
    return encode(plain)


def _is_locked(lock: FixtureLock, text: str) -> bool:
    return hashlib.sha256(text.encode()).hexdigest() == lock.sha256
