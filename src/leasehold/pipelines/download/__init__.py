"""Every file of a manifest on disk, once: resumed, hashed, deduplicated, indexed.

    from leasehold.pipelines import download

    download.plan("papers.jsonl", out="papers")
    print(download.run("papers", workers=4).failed)

`leasehold worker leasehold.pipelines.download` serves the collection that its environment names.
"""

from __future__ import annotations

from typing import Any

from leasehold.pipelines.download.api import Planned, plan, report, run
from leasehold.pipelines.download.collection import Collection, Settings, settings_of_this_process
from leasehold.pipelines.download.manifest import Artifact, ManifestInvalid, read_manifest
from leasehold.pipelines.download.repair.reconcile import Reconciled, reconcile
from leasehold.pipelines.download.reports.report import Report

__all__ = [
    "Artifact",
    "Collection",
    "ManifestInvalid",
    "Planned",
    "Reconciled",
    "Report",
    "Settings",
    "plan",
    "read_manifest",
    "reconcile",
    "report",
    "run",
]


def __getattr__(name: str) -> Any:
    """Make the app of a worker process when it is asked for, and not by the import alone."""
    if name == "app":
        return Collection(settings_of_this_process()).app
    raise AttributeError(name)
