"""States: only along the arrows of the document, forward, and under a lease."""

from collections.abc import Iterable

from leasehold import Permanent
from leasehold.errors import JobNotFree, JobUnknown, LeaseLost, StateDenied
from leasehold.pipelines.download import states
from leasehold.pipelines.download.script_engine import Engine, Holding, engine, number_of

__all__ = ["TransitionDenied", "advance_state", "get_current_state"]


class TransitionDenied(RuntimeError):
    """The state was not changed; the text begins with `state_transition_denied` and gives the reason."""


def advance_state(conn: object, *, job_id: str, to_state: str, allowed_from: Iterable[str]) -> None:
    """Move a job to a state, if it is in one of `allowed_from` and an arrow leads from there; else `RuntimeError`.

    Under a lease that this process got with `lease_next_job`; a job that nobody holds is held for the moment. After a
    crash, a state that an earlier holder had reached is passed again without a change. INDEXED, DEDUPED,
    SKIPPED_DUPLICATE and FAILED are the job's end.
    """
    allowed = (allowed_from,) if isinstance(allowed_from, str) else tuple(allowed_from)
    denied = f"state_transition_denied job={job_id} wants={to_state} from={allowed}"
    with engine(conn) as found:
        try:
            number = number_of(job_id)
            state = found.job(number).state
            known = found.holding(number)
            if known is not None and to_state in known.passed:
                found.hold(number)  # an earlier holder had reached it; the lease must stand
                known.passed.discard(to_state)
                return
            if state not in allowed or to_state not in states.ARROWS.get(state, ()):
                raise TransitionDenied(f"{denied} have={state}")
            _move(found, number, known, to_state)
        except JobUnknown as error:
            raise TransitionDenied(f"{denied} have=MISSING") from error
        except (JobNotFree, LeaseLost, StateDenied) as error:
            raise TransitionDenied(f"{denied} have={found.job(job_id).state}: {error}") from error


def get_current_state(conn: object, *, job_id: str) -> str | None:
    with engine(conn) as found:
        try:
            return found.job(job_id).state
        except JobUnknown:
            return None


def _move(found: Engine, number: int, known: Holding | None, to_state: str) -> None:
    """Make the move, and the end that it is, in one transaction."""
    held, is_lasting = found.hold(number)
    is_end = to_state in (*states.DOWNLOADED, states.FAILED)
    with found.app.transaction(found.connection):
        if to_state == states.FAILED:  # the engine shows it of a job that ended in an error, until that is revived
            held.fail(Permanent("a script has moved it to FAILED", error_class="FAILED_BY_SCRIPT"))
        else:
            held.task.advance(to_state)
            if is_end:
                held.done({"state": to_state})
            elif not is_lasting:
                held.release()
    if known is not None:
        known.is_over = is_end
