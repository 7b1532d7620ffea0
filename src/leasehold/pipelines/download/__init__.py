"""Every file of a manifest on disk, once: resumed, hashed, deduplicated, indexed.

`leasehold worker leasehold.pipelines.download` serves the collection that its environment names.
"""

from __future__ import annotations

from typing import Any

from leasehold.pipelines.download.collection import Collection, Settings, settings_of_this_process
from leasehold.pipelines.download.manifest import Artifact, ManifestInvalid, read_manifest

__all__ = ["Artifact", "Collection", "ManifestInvalid", "Settings", "read_manifest"]


def __getattr__(name: str) -> Any:
    """Make the app of a worker process when it is asked for, and not by the import alone."""
    if name == "app":
        return Collection(settings_of_this_process()).app
    raise AttributeError(name)
