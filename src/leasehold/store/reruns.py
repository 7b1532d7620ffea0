"""Versioned reruns: the newest submitted version of each job, locked while a version is submitted."""

from leasehold.errors import VersionPruned, VersionStale
from leasehold.model.graph import Definition
from leasehold.model.task import Submission, Submitted
from leasehold.store.db.database import Noun, Session
from leasehold.store.tasks import add_jobs


class Reruns(Noun):
    def submit(self, submission: Submission, definition: Definition, key: str, version: int) -> Submitted:
        """Add a version of a job, or return the job of that version; `VersionStale` if a newer one was submitted.

        `VersionPruned` if it was submitted before and pruned: its result is gone, and it is not run again.
        `submission.key` is the key of this version; `key` the one that all versions share.
        """

        def work(session: Session) -> Submitted:
            known = session.run("reruns/known", kind=submission.kind, key=key)
            newest = session.run("reruns/add", kind=submission.kind, key=key, version=version)[0][0]
            if newest > version:
                raise VersionStale(f"Kind '{submission.kind}', key {key!r}: {newest} is the newest, this is {version}.")
            job = add_jobs(session, [submission], definition)[0]
            if job.created and known and known[0][0] == version:
                raise VersionPruned(f"Kind '{submission.kind}', key {key!r}, version {version}.")
            return job

        return self._database.transact(work)
