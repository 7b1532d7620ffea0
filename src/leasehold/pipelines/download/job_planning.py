"""Planning: the same artifact is the same job, however often it is planned."""

from leasehold import KeyConflict
from leasehold.pipelines.download.collection import branch_of
from leasehold.pipelines.download.manifest import Artifact
from leasehold.pipelines.download.script_engine import engine

__all__ = ["plan_job_if_absent"]


def plan_job_if_absent(conn: object, *, work_id: str, artifact_id: str, canonical_url: str) -> str:
    """Plan an artifact and return its job's id; one that was planned before, by anybody, is left as it is."""
    artifact = Artifact(work_id, artifact_id, canonical_url)
    with engine(conn) as found:
        branch = branch_of(artifact.host) or None
        try:
            job = found.app.submit(found.kind, artifact.fields(), key=artifact.key, branch=branch)
        except KeyConflict:  # planned with a hash or a name that was wanted
            return str(found.ask("job_of_key", key=artifact.key)[0][0])
        return str(job.id)
