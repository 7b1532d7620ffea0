"""States: only along the arrows of the document, forward, and under a lease."""

import os
from collections.abc import Iterable

from leasehold import Held, Permanent
from leasehold.errors import JobNotFree, JobUnknown, LeaseLost, StateDenied
from leasehold.pipelines.download import states
from leasehold.pipelines.download._script import HOLDINGS, TTL_SECONDS, Engine, Holding, engine, number_of

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
            known = HOLDINGS.get(found, number)
            if known is not None and to_state in known.passed:
                _pass(found, number, known, to_state)
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


def _pass(found: Engine, number: int, known: Holding, to_state: str) -> None:
    """Go by a state that an earlier holder had reached."""
    if found.held(number, known) is None:
        raise LeaseLost
    known.passed.discard(to_state)


def _move(found: Engine, number: int, known: Holding | None, to_state: str) -> None:
    """Make the move, and the end that it is, in one transaction."""
    manual = found.app.manual
    held = None if known is None else found.held(number, known)
    if known is not None and held is None:
        raise LeaseLost
    lasting = held is not None
    held = held or manual.hold(number, owner=f"script {os.getpid()}", seconds=TTL_SECONDS)
    with found.app.transaction(found.connection):
        if to_state == states.FAILED:  # the engine shows it of a job that ended in an error, until that is revived
            held.fail(Permanent("a script has moved it to FAILED", error_class="FAILED_BY_SCRIPT"))
        else:
            held.task.advance(to_state)
            _leave(held, to_state, lasting=lasting)
    if known is not None:
        known.is_over = to_state in (*states.DOWNLOADED, states.FAILED)


def _leave(held: Held, to_state: str, *, lasting: bool) -> None:
    if to_state in states.DOWNLOADED:
        held.done({"state": to_state})
    elif not lasting:
        held.release()
