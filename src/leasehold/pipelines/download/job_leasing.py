"""Leasing: one holder a job, for as long as the lease stands. A job whose holder is gone is leased again."""

from typing import Any

from leasehold import Held, Misuse
from leasehold.pipelines.download import states
from leasehold.pipelines.download.limits import PARKED_SECONDS, TTL_SECONDS
from leasehold.pipelines.download.script_engine import Engine, Holding, engine, number_of

__all__ = ["lease_next_job", "release_lease", "renew_lease"]


def lease_next_job(conn: object, *, owner: str, ttl_s: float = TTL_SECONDS) -> dict[str, Any] | None:
    """Lease the next job for `ttl_s` seconds and return its row; None if there is none.

    A job whose lease has expired comes again, in the state it had reached: what was done before is not done again, by
    `advance_state` and `run_effect` alike. A job that is new is LEASED.
    """
    with engine(conn) as found:
        while held := found.app.manual.lease(found.kind, owner=owner, seconds=ttl_s):
            state = _state(found, held.job_id)
            if state in states.DOWNLOADED:  # its holder died before it could record that
                held.done({"state": state})
                continue
            passed = {str(row[0]) for row in found.ask("job_states", job=held.job_id)} - {states.LEASED}
            found.remember(held.job_id, Holding(conn, owner, held.fence, passed))
            held.task.advance(states.LEASED)
            return _row(found, held.job_id)
    return None


def renew_lease(conn: object, *, job_id: str, owner: str, ttl_s: float = TTL_SECONDS) -> bool:
    """Hold a job for `ttl_s` seconds from now; False if this owner's lease no longer stands."""
    with engine(conn) as found:
        held = _held(found, number_of(job_id), owner)
        return held is not None and held.renew(ttl_s)


def release_lease(conn: object, *, job_id: str, owner: str) -> bool:
    """Give a job back; False if this owner holds it no longer. One that has come to its end stays there.

    A job that is FINALIZED and not yet in the index is leased again an hour later, if nobody has indexed it by then.
    """
    with engine(conn) as found:
        number = number_of(job_id)
        found.job(number)
        known = found.holding(number)
        held = _held(found, number, owner)
        if known is not None and known.owner == owner:
            found.forget(number)
        if held is None:
            return known is not None and known.owner == owner and known.is_over
        return held.release(delay=PARKED_SECONDS if _state(found, number) == states.FINALIZED else 0.0)


def _held(found: Engine, number: int, owner: str) -> Held | None:
    """Take up what this connection has leased, and that alone; on another, what the owner of this name has."""
    known = found.holding(number)
    if known is not None and known.owner == owner:
        return found.resume(number, known)
    return found.app.manual.resume(number, owner=owner)


def _state(found: Engine, job_id: int) -> str:
    if (state := found.job(job_id).state) is None:
        raise Misuse(f"Job {job_id} is no artifact.")
    return state


def _row(found: Engine, job_id: int) -> dict[str, Any]:
    job = found.job(job_id)
    owner, until, since = found.ask("lease", job=job_id)[0]
    return {
        "job_id": str(job.id),
        "work_id": job.payload["work_id"],
        "artifact_id": job.payload["artifact_id"],
        "canonical_url": job.payload["url"],
        "state": job.state,
        "lease_owner": owner,
        "lease_until": until,
        "created_at": job.created_at.timestamp(),
        "updated_at": since,
        "idempotency_key": job.key,
    }
