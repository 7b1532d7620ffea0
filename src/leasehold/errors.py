"""Every error Leasehold raises, drawn as one tree that says who must act.

    LeaseholdError
    ├── Misuse        the caller changes something
    ├── Overtaken     the world moved on: stop, touch nothing
    ├── Unavailable   try again later
    └── Broken        an invariant failed: stop and call a person

A class's docstring is its message; `code` is stable and may be matched by programs.
The signals at the end are what a user's handler raises; they are not errors of ours.
"""

from __future__ import annotations

import re
from typing import ClassVar, Final

_error_class: Final = re.compile(r"[A-Z][A-Z0-9_]{2,62}\Z")


class LeaseholdError(Exception):
    """Leasehold could not do what was asked."""

    code: ClassVar[str] = "LEASEHOLD_ERROR"

    def __init__(self, detail: str = "") -> None:
        said = (type(self).__doc__ or "").strip()
        super().__init__(f"{said} {detail}".strip())
        self.detail = detail


class Misuse(LeaseholdError):
    """The call cannot succeed as it stands."""

    code = "MISUSE"


class Overtaken(LeaseholdError):
    """The world moved on while this was under way; nothing was changed."""

    code = "OVERTAKEN"


class Unavailable(LeaseholdError):
    """A part we depend on does not answer; try again later."""

    code = "UNAVAILABLE"


class Broken(LeaseholdError):
    """An invariant does not hold; stop and call a person."""

    code = "BROKEN"


class KeyConflict(Misuse):
    """A job of this kind and key exists with another payload; use another key or the same payload."""

    code = "KEY_CONFLICT"


class PayloadInvalid(Misuse):
    """The value is not strict JSON that both databases can keep."""

    code = "PAYLOAD_INVALID"


class PayloadTooLarge(PayloadInvalid):
    """The value is larger than its limit; store it elsewhere and pass a reference."""

    code = "PAYLOAD_TOO_LARGE"


class PayloadTooDeep(PayloadInvalid):
    """The value is nested deeper than its limit; flatten it."""

    code = "PAYLOAD_TOO_DEEP"


class NameInvalid(Misuse):
    """A queue, kind or stage is named ^[a-z][a-z0-9_.-]{0,62}$: lower case, starting with a letter."""

    code = "NAME_INVALID"


class OptionInvalid(Misuse):
    """An option lies outside its limits."""

    code = "OPTION_INVALID"


class KindUnknown(Misuse):
    """No handler of this kind is registered here and no worker has published one; check the spelling."""

    code = "KIND_UNKNOWN"


class KindTaken(Misuse):
    """A handler of this kind or stage is registered already; give one of them another name."""

    code = "KIND_TAKEN"


class ArgumentsInvalid(Misuse):
    """The payload's fields do not fit the handler's arguments."""

    code = "ARGUMENTS_INVALID"


class GraphInvalid(Misuse):
    """The pipeline's stages cannot all run: each needs a name of its own and earlier stages to wait for."""

    code = "GRAPH_INVALID"


class MachineInvalid(Misuse):
    """A machine needs states named ^[A-Za-z][A-Za-z0-9_.-]{0,62}$ and arrows that reach each of them from the first."""

    code = "MACHINE_INVALID"


class StateDenied(Misuse):
    """The machine has no arrow from the state this is in to the one asked for; nothing was changed."""

    code = "STATE_TRANSITION_DENIED"


class EachInvalid(Misuse):
    """`each` must name a field of the upstream output that holds a list."""

    code = "EACH_INVALID"


class FanOutTooLarge(Misuse):
    """A stage may fan out into a limited number of segments; group the items."""

    code = "FAN_OUT_TOO_LARGE"


class JobUnknown(Misuse):
    """There is no job with this id."""

    code = "JOB_UNKNOWN"


class QueueUnserved(Misuse):
    """No handler is registered for this queue; import the module that defines it or drop the option."""

    code = "QUEUE_UNSERVED"


class UrlInvalid(Misuse):
    """A database is named sqlite:///relative/path.db, sqlite:////absolute/path.db or postgresql://host/name."""

    code = "URL_INVALID"


class DriverMissing(Misuse):
    """PostgreSQL needs its driver: pip install 'leasehold[postgres]'."""

    code = "DRIVER_MISSING"


class AppInvalid(Misuse):
    """An app is named module:attribute, and the attribute must be a Leasehold."""

    code = "APP_INVALID"


class ConnectionForeign(Misuse):
    """The connection does not lead to this engine's database; pass one that does."""

    code = "CONNECTION_FOREIGN"


class SecondLibrary(Misuse):
    """A second SQLite library or a plain open() drops the locks on the engine's file; use apsw or another process."""

    code = "SECOND_LIBRARY"


class SqliteTooOld(Misuse):
    """This SQLite can corrupt a database under concurrent checkpoints; install apsw with SQLite 3.51.3 or later."""

    code = "SQLITE_TOO_OLD"


class SchemaMissing(Misuse):
    """The database has no Leasehold schema, or an older one; run `leasehold migrate`."""

    code = "SCHEMA_MISSING"


class SchemaTooNew(Misuse):
    """The database was migrated by a newer Leasehold; upgrade this one."""

    code = "SCHEMA_TOO_NEW"


class SchemaForeign(Misuse):
    """The database holds tables of another program under our names; give Leasehold a database of its own."""

    code = "SCHEMA_FOREIGN"


class ResultRefused(Misuse):
    """The database refused to record this result."""

    code = "RESULT_REFUSED"


class EffectBusy(Misuse):
    """This effect is under way already in the same attempt; wait for it, or give each its own fields."""

    code = "EFFECT_BUSY"


class EffectSettled(Overtaken):
    """The effect has a result, is not of this letter's task, or the letter is not open; see `leasehold effects JOB`."""

    code = "EFFECT_SETTLED"


class EffectTooLarge(Misuse):
    """The act was done, but its result is larger than its limit and was not recorded; return a reference instead."""

    code = "EFFECT_TOO_LARGE"

    def __init__(self, detail: str = "", result: object = None) -> None:
        super().__init__(detail)
        self.result = result


class EffectInDoubt(Broken):
    """An earlier attempt may have done this and was never heard of again; a person must tell: `leasehold dead list`."""

    code = "EFFECT_IN_DOUBT"


class VersionStale(Misuse):
    """A newer version of this job was submitted; ask for a strictly higher one."""

    code = "VERSION_STALE"


class VersionPruned(Misuse):
    """This version of the job ran and was pruned since, with its result; a strictly higher version runs anew."""

    code = "VERSION_PRUNED"


class DeliveryUnknown(Misuse):
    """There is no delivery with this id; list them with `leasehold deliveries list`."""

    code = "DELIVERY_UNKNOWN"


class DeliveryConflict(Misuse):
    """One task delivers two different messages to the same recipient under one subject and version."""

    code = "DELIVERY_CONFLICT"


class DeliverySettled(Overtaken):
    """Only a delivery that is in doubt, reconciling or failed waits for an answer; this one does not, or no longer."""

    code = "DELIVERY_SETTLED"


class LetterUnknown(Misuse):
    """There is no dead letter with this id; list them with `leasehold dead list`."""

    code = "LETTER_UNKNOWN"


class EvidenceMissing(Misuse):
    """A letter is revived only after somebody wrote down what was done to remedy it."""

    code = "EVIDENCE_MISSING"


class EffectUnanswered(Misuse):
    """An effect of this task may or may not have happened; tell which with `leasehold dead answer` first."""

    code = "EFFECT_UNANSWERED"


class JobCancelled(Misuse):
    """The job was called off, so nothing of it is revived; its letters can be resolved."""

    code = "JOB_CANCELLED"


class JobNotFree(Misuse):
    """The job cannot be leased now: it has ended, waits, or is held by somebody."""

    code = "JOB_NOT_FREE"


class JobUnfinished(Misuse):
    """The job has not ended as this needs it to."""

    code = "JOB_UNFINISHED"


class LetterOpen(Misuse):
    """Only a letter that was revived, or whose job was cancelled, can be resolved."""

    code = "LETTER_OPEN"


class LetterRevived(Overtaken):
    """The letter is no longer open: somebody revived or resolved it; look at it with `leasehold dead show`."""

    code = "LETTER_REVIVED"


class RecordDamaged(Misuse):
    """The file is not a whole, unchanged record; export the job again."""

    code = "RECORD_DAMAGED"


class ProjectionDamaged(Misuse):
    """The file is not as the journal has it; move it away, and a new one will be written from the beginning."""

    code = "PROJECTION_DAMAGED"


class ProjectionForeign(Misuse):
    """The file is of another database or another job; name another file, or the database and the job it came from."""

    code = "PROJECTION_FOREIGN"


class ProjectionBusy(Unavailable):
    """Another process writes to this file; end it first, or name another file."""

    code = "PROJECTION_BUSY"


class LeaseLost(Overtaken):
    """The lease no longer stands: it expired or went to another; stop and touch nothing."""

    code = "LEASE_LOST"


class DatabaseUnavailable(Unavailable):
    """The database cannot be reached or did not answer in time; check its URL and that it is running."""

    code = "DATABASE_UNAVAILABLE"


class WaitTimeout(Unavailable):
    """The job has not settled within the time given; wait again or look at it with `leasehold show`."""

    code = "WAIT_TIMEOUT"


def check_error_class(name: object) -> str:
    """Return `name` if a failure may be classed so."""
    if isinstance(name, str) and _error_class.match(name):
        return name
    raise OptionInvalid(f"An error class is named ^[A-Z][A-Z0-9_]{{2,62}}$; got {str(name)[:80]!r}.")


class Permanent(Exception):
    """Raised by a handler: this task fails for good, at once. `error_class` names it."""

    error_class: str = "PERMANENT"

    def __init__(self, *said: object, error_class: str | None = None) -> None:
        super().__init__(*said)
        if error_class is not None:
            self.error_class = check_error_class(error_class)


class Transient(Exception):
    """Raised by a handler: try again, no sooner than `retry_after` seconds from now. `error_class` names it."""

    error_class: str = "TRANSIENT"

    def __init__(self, message: str = "", *, retry_after: float = 0.0, error_class: str | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        if error_class is not None:
            self.error_class = check_error_class(error_class)


class InDoubt(Exception):
    """Raised by an effect's act: it may or may not have happened. The next attempt looks it up, or asks a person."""


class Cancelled(Exception):
    """Raised by a handler that stops because its task was cancelled."""


class Released(Exception):
    """Raised by a handler when `task.leaving`: it gives the task back. At any other time it is a failure as any."""
