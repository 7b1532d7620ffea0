from leasehold.app.facade import Leasehold
from leasehold.pipelines.download.api import PlannedFiles, plan, report, run
from leasehold.pipelines.download.collection import Collection, Settings
from leasehold.pipelines.download.manifest import Artifact, ManifestInvalid, read_manifest
from leasehold.pipelines.download.repair.reconcile import Reconciled, reconcile
from leasehold.pipelines.download.reports.report import Report

__all__ = [
    "Artifact",
    "Collection",
    "ManifestInvalid",
    "PlannedFiles",
    "Reconciled",
    "Report",
    "Settings",
    "plan",
    "read_manifest",
    "reconcile",
    "report",
    "run",
]

app: Leasehold
