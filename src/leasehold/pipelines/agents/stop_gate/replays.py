"""Replays: a fixture is executed in fresh processes, each with another hash seed, time zone and locale."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from leasehold.pipelines.agents.limits import FIXTURE_SECONDS
from leasehold.pipelines.agents.stop_gate.manifest import ArtifactHashes
from leasehold.shapes import Shape

MODULE: Final = "leasehold.pipelines.agents.stop_gate.execution"
ENGINE_VARIABLES: Final = "LEASEHOLD_"
ERROR_CHARACTERS_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class ReplayEnvironment:
    """What must not change what a fixture leaves."""

    hash_seed: str
    time_zone: str
    locale: str

    def variables(self) -> dict[str, str]:
        return {"PYTHONHASHSEED": self.hash_seed, "TZ": self.time_zone, "LC_ALL": self.locale}


ENVIRONMENTS: Final = (
    ReplayEnvironment("0", "UTC0", "C"),
    ReplayEnvironment("1", "LINT-14", "C.UTF-8"),
    ReplayEnvironment("4294967295", "NST3:30NDT", "tr_TR.UTF-8"),
)
REPLAY_COUNT: Final = len(ENVIRONMENTS)


@dataclass(frozen=True, slots=True)
class FixtureReplay:
    """The hashes of what one execution left; or the error with which it ended."""

    artifacts: Mapping[str, str]
    error: str = ""


Execute = Callable[[str, ReplayEnvironment], FixtureReplay]
_hashes: Final = Shape[ArtifactHashes](ArtifactHashes)


def execute_in_process(text: str, environment: ReplayEnvironment) -> FixtureReplay:
    """Execute a fixture in a new interpreter; its database is made for this execution and removed after it."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ENGINE_VARIABLES)}
    command = [sys.executable, "-P", "-m", MODULE]
    variables = {**inherited, **environment.variables()}
    try:
        ended = subprocess.run(
            command, input=text.encode(), env=variables, capture_output=True, check=False, timeout=FIXTURE_SECONDS
        )
    except subprocess.TimeoutExpired:
        return FixtureReplay({}, f"it had not ended after {FIXTURE_SECONDS} s")
    if ended.returncode != 0:
        lines = ended.stderr.decode(errors="replace").strip().splitlines()
        return FixtureReplay({}, lines[-1][:ERROR_CHARACTERS_MAX] if lines else f"it ended with {ended.returncode}")
    try:
        return FixtureReplay({name.value: found for name, found in _hashes.decode(ended.stdout).items()})
    except msgspec.DecodeError as error:
        return FixtureReplay({}, f"it printed no hashes: {error}")
