"""The manifest `stop_gate.vnext_plus9_manifest@1`: which fixtures each metric has, and the hashes that lock them.

It locks itself too: `vnext_plus9_manifest_hash` is the hash of everything else in it, as canonical JSON. The fixtures
are files next to the manifest or below it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal

import msgspec

from leasehold.canonical import VALUE_BYTES_MAX, parse
from leasehold.errors import PayloadInvalid
from leasehold.pipelines.agents.errors import StopGateInputInvalid
from leasehold.pipelines.agents.runtime_state import sha256_of
from leasehold.shapes import Shape

HASH_KEY: Final = "vnext_plus9_manifest_hash"
NAME: Final = "vnext_plus9_manifest.json"
MANIFEST_SCHEMA: Final = "stop_gate.vnext_plus9_manifest@1"
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class MetricName(StrEnum):
    SCHEDULER_DISPATCH = "scheduler_dispatch_replay_determinism_pct"
    ORPHAN_LEASE = "orphan_lease_recovery_determinism_pct"
    BUDGET_CANCEL = "concurrent_budget_cancel_stability_pct"


class ArtifactName(StrEnum):
    ANSWERS = "answers"
    BUDGET = "budget"
    EVENTS = "events"
    REPLAY = "replay"
    TOKENS = "tokens"


ArtifactHashes = dict[ArtifactName, Sha256]


class FixtureLock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fixture's file, the hash of its steps, and the hashes of what they leave."""

    fixture_id: Annotated[str, msgspec.Meta(pattern="^[a-z0-9][a-z0-9._-]{0,127}$")]
    path: str
    sha256: Sha256
    artifacts: ArtifactHashes


FixtureLocks = Annotated[list[FixtureLock], msgspec.Meta(min_length=1)]


class ManifestPayload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: Literal["stop_gate.vnext_plus9_manifest@1"]
    metrics: dict[MetricName, FixtureLocks]
    vnext_plus9_manifest_hash: Sha256


_payload: Final = Shape[ManifestPayload](ManifestPayload)


@dataclass(frozen=True, slots=True)
class StopGateManifest:
    """A manifest that was read. `found_hash` is computed; it should be what the manifest declares."""

    folder: Traversable
    payload: ManifestPayload
    found_hash: str

    @property
    def is_sound(self) -> bool:
        return self.found_hash == self.payload.vnext_plus9_manifest_hash

    def locks(self) -> Iterator[tuple[MetricName, FixtureLock]]:
        """Yield every fixture, by metric and then as listed."""
        for metric in MetricName:
            yield from ((metric, lock) for lock in self.payload.metrics[metric])


def read_manifest(path: Path | None = None) -> StopGateManifest:
    """Read a manifest, that of the package if none is named; `StopGateInputInvalid` gives the reason against it."""
    folder = shipped_folder() if path is None else path.parent
    name = NAME if path is None else path.name
    plain = read_json(folder, name)
    try:
        payload = _payload.convert(plain)
    except msgspec.ValidationError as error:
        raise StopGateInputInvalid(f"{name}: {error}.", file=name) from None
    if missing := set(MetricName) - payload.metrics.keys():
        raise StopGateInputInvalid(f"{name} has no fixtures for {min(missing)}.", file=name)
    manifest = StopGateManifest(folder, payload, manifest_hash(plain))
    _check_distinct(manifest, name)
    return manifest


def shipped_folder() -> Traversable:
    return files(__package__) / "fixtures"


def manifest_hash(plain: dict[str, Any]) -> str:
    """Return the hash of a manifest: of all its fields but this one."""
    return sha256_of({name: value for name, value in plain.items() if name != HASH_KEY})


def read_json(folder: Traversable, path: str) -> dict[str, Any]:
    """Read a JSON object from a file in a folder or below it."""
    relative = PurePosixPath(path)
    if relative.is_absolute() or ".." in relative.parts or not relative.parts or "\0" in path:
        raise StopGateInputInvalid(f"{path!r} is not below the manifest's folder.", file=path)
    try:
        with folder.joinpath(*relative.parts).open("rb") as file:
            text = file.read(VALUE_BYTES_MAX + 1).decode("utf-8")
        found = parse(text)
    except (OSError, UnicodeDecodeError, PayloadInvalid) as error:
        raise StopGateInputInvalid(f"{path} cannot be read: {error}.", file=path) from None
    if not isinstance(found, dict):
        raise StopGateInputInvalid(f"{path} is no JSON object.", file=path)
    return found


def _check_distinct(manifest: StopGateManifest, name: str) -> None:
    """Refuse a fixture that would count twice."""
    seen: set[str] = set()
    for _, lock in manifest.locks():
        for key in (lock.fixture_id, lock.path):
            if key in seen:
                raise StopGateInputInvalid(f"{name} lists {key} twice.", file=name)
        seen |= {lock.fixture_id, lock.path}
        if lock.artifacts.keys() != set(ArtifactName):
            raise StopGateInputInvalid(f"{name} does not lock every artifact of {lock.fixture_id}.", file=name)
