"""Every file of a manifest on disk, once: resumed, hashed, deduplicated, indexed.

    from leasehold.pipelines import download

    download.plan("papers.jsonl", out="papers")
    print(download.run("papers", workers=4).failed)

`leasehold worker leasehold.pipelines.download` serves the collection that its environment names.
"""

from leasehold.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "api": ["PlannedFiles", "plan", "report", "run"],
        "collection": ["Collection", "Settings"],
        "manifest": ["Artifact", "ManifestInvalid", "read_manifest"],
        "repair.reconcile": ["Reconciled", "reconcile"],
        "reports.report": ["Report"],
    },
    calls={"app": "collection:app_of_this_process"},
)
