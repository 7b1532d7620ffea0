"""Every error Leasehold raises, as one tree that shows who must act.

    LeaseholdError
    ├── Misuse        the caller changes the call
    ├── Overtaken     another process was first: stop, change nothing
    ├── Unavailable   try again later
    └── Broken        an invariant failed: stop and have a person look

A class's docstring is its message; `code` is stable and may be matched by programs.
The signals at the end are raised by users' handlers; they are not errors of the engine.
"""

import re
from typing import ClassVar, Final

_error_class: Final = re.compile(r"[A-Z][A-Z0-9_]{2,62}\Z")


class LeaseholdError(Exception):
    """Leasehold could not carry out the call."""

    code: ClassVar[str] = "LEASEHOLD_ERROR"

    def __init__(self, detail: str = "") -> None:
        message = (type(self).__doc__ or "").strip()
        super().__init__(f"{message} {detail}".strip())
        self.detail = detail


class Misuse(LeaseholdError):
    """The call cannot succeed with these arguments or in this state; change it."""

    code = "MISUSE"


class Overtaken(LeaseholdError):
    """Another process changed this first; nothing was written."""

    code = "OVERTAKEN"


class Unavailable(LeaseholdError):
    """A service that Leasehold needs does not answer; try again later."""

    code = "UNAVAILABLE"


class Broken(LeaseholdError):
    """An invariant does not hold; stop and have a person look at it."""

    code = "BROKEN"


class KeyConflict(Misuse):
    """A job with this kind and key exists with a different payload; use another key or the same payload."""

    code = "KEY_CONFLICT"


class PayloadInvalid(Misuse):
    """The value is not strict JSON that both databases can store."""

    code = "PAYLOAD_INVALID"


class PayloadTooLarge(PayloadInvalid):
    """The value is larger than its limit; store it elsewhere and pass a reference."""

    code = "PAYLOAD_TOO_LARGE"


class PayloadTooDeep(PayloadInvalid):
    """The value is nested deeper than its limit; flatten it."""

    code = "PAYLOAD_TOO_DEEP"


class NameInvalid(Misuse):
    """The name of a queue, kind or stage must match ^[a-z][a-z0-9_.-]{0,62}$: lower case, starting with a letter."""

    code = "NAME_INVALID"


class OptionInvalid(Misuse):
    """An option is invalid or outside its limits."""

    code = "OPTION_INVALID"


class KindUnknown(Misuse):
    """No handler of this kind is registered here, and no worker has published one; check the spelling."""

    code = "KIND_UNKNOWN"


class KindTaken(Misuse):
    """A handler for this kind or stage is already registered; give one of them another name."""

    code = "KIND_TAKEN"


class ArgumentsInvalid(Misuse):
    """The payload's fields do not match the handler's arguments."""

    code = "ARGUMENTS_INVALID"


class GraphInvalid(Misuse):
    """The pipeline's stages cannot all run: each needs a unique name and may wait for earlier stages only."""

    code = "GRAPH_INVALID"


class MachineInvalid(Misuse):
    """A machine's states must match ^[A-Za-z][A-Za-z0-9_.-]{0,62}$, and each must be reachable from the first."""

    code = "MACHINE_INVALID"


class StateDenied(Misuse):
    """The machine does not allow this transition from the current state; nothing was changed."""

    code = "STATE_TRANSITION_DENIED"


class EachInvalid(Misuse):
    """`each` must name a field of the upstream output that holds a list."""

    code = "EACH_INVALID"


class FanOutTooLarge(Misuse):
    """The list has more items than a stage may have segments; group the items."""

    code = "FAN_OUT_TOO_LARGE"


class JobUnknown(Misuse):
    """There is no job with this id."""

    code = "JOB_UNKNOWN"


class QueueUnserved(Misuse):
    """No handler is registered for this queue; import the module that defines it or drop the option."""

    code = "QUEUE_UNSERVED"


class UrlInvalid(Misuse):
    """A database URL is sqlite:///relative/path.db, sqlite:////absolute/path.db or postgresql://host/name."""

    code = "URL_INVALID"


class DriverMissing(Misuse):
    """The PostgreSQL driver is not installed; run: pip install 'leasehold[postgres]'."""

    code = "DRIVER_MISSING"


class AppInvalid(Misuse):
    """An app is given as module:attribute, and the attribute must be a Leasehold object."""

    code = "APP_INVALID"


class ConnectionForeign(Misuse):
    """The connection is to another database than this app's; pass one to the same database."""

    code = "CONNECTION_FOREIGN"


class SecondLibrary(Misuse):
    """A second SQLite library or a plain open() would drop the locks on the file; use apsw or another process."""

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
    """This database has tables with Leasehold's names that no released version made; use a new database."""

    code = "SCHEMA_FOREIGN"


class ResultRefused(Misuse):
    """The database refused to store this result."""

    code = "RESULT_REFUSED"


class EffectBusy(Misuse):
    """This effect is already running in the same attempt; wait for it, or give each effect different fields."""

    code = "EFFECT_BUSY"


class EffectSettled(Overtaken):
    """The effect has a result, belongs to another task, or its letter is not open; see `leasehold effects JOB`."""

    code = "EFFECT_SETTLED"


class EffectTooLarge(Misuse):
    """The act was done, but its result exceeds the size limit and was not recorded; return a reference instead."""

    code = "EFFECT_TOO_LARGE"

    def __init__(self, detail: str = "", result: object = None) -> None:
        super().__init__(detail)
        self.result = result


class EffectInDoubt(Broken):
    """An earlier attempt may have done this effect without recording it; a person decides: `leasehold dead list`."""

    code = "EFFECT_IN_DOUBT"


class VersionStale(Misuse):
    """A newer version of this job was submitted; submit a strictly higher version."""

    code = "VERSION_STALE"


class VersionPruned(Misuse):
    """This version of the job was pruned with its result; submit a strictly higher version to run it again."""

    code = "VERSION_PRUNED"


class DeliveryUnknown(Misuse):
    """There is no delivery with this id; list them with `leasehold deliveries list`."""

    code = "DELIVERY_UNKNOWN"


class DeliveryConflict(Misuse):
    """One task delivers two different messages to the same recipient under one subject and version."""

    code = "DELIVERY_CONFLICT"


class DeliverySettled(Overtaken):
    """This delivery is not in doubt, reconciling or failed, so it takes no answer."""

    code = "DELIVERY_SETTLED"


class LetterUnknown(Misuse):
    """There is no dead letter with this id; list them with `leasehold dead list`."""

    code = "LETTER_UNKNOWN"


class EvidenceMissing(Misuse):
    """A dead letter is revived only after its remedy was written down as evidence."""

    code = "EVIDENCE_MISSING"


class EffectUnanswered(Misuse):
    """An effect of this task may or may not have happened; record which with `leasehold dead answer` first."""

    code = "EFFECT_UNANSWERED"


class JobCancelled(Misuse):
    """The job was cancelled, so its dead letters cannot be revived; they can be resolved."""

    code = "JOB_CANCELLED"


class JobNotFree(Misuse):
    """The job cannot be leased now: it has ended, is waiting, or another worker holds its lease."""

    code = "JOB_NOT_FREE"


class JobUnfinished(Misuse):
    """The job has not ended yet, or not with the status that this needs."""

    code = "JOB_UNFINISHED"


class LetterOpen(Misuse):
    """Only a dead letter that was revived, or whose job was cancelled, can be resolved."""

    code = "LETTER_OPEN"


class LetterRevived(Overtaken):
    """The dead letter is no longer open: it was revived or resolved; see `leasehold dead show`."""

    code = "LETTER_REVIVED"


class RecordDamaged(Misuse):
    """The file is not a complete, unchanged record; export the job again."""

    code = "RECORD_DAMAGED"


class ProjectionDamaged(Misuse):
    """The file differs from the journal; move it away, and a new one is written from the beginning."""

    code = "PROJECTION_DAMAGED"


class ProjectionForeign(Misuse):
    """The file belongs to another database or job; name another file, or the database and job it came from."""

    code = "PROJECTION_FOREIGN"


class ProjectionBusy(Unavailable):
    """Another process is writing this file; stop it first, or name another file."""

    code = "PROJECTION_BUSY"


class LeaseLost(Overtaken):
    """The lease is no longer valid: it expired or another worker has it; stop and change nothing."""

    code = "LEASE_LOST"


class DatabaseUnavailable(Unavailable):
    """The database cannot be reached or did not answer in time; check its URL and that it is running."""

    code = "DATABASE_UNAVAILABLE"


class WaitTimeout(Unavailable):
    """The job did not end within the given time; wait again, or see `leasehold show`."""

    code = "WAIT_TIMEOUT"


def check_error_class(name: object) -> str:
    """Return `name` if it is a valid error class."""
    if isinstance(name, str) and _error_class.match(name):
        return name
    raise OptionInvalid(f"An error class is named ^[A-Z][A-Z0-9_]{{2,62}}$; got {str(name)[:80]!r}.")


class Permanent(Exception):
    """Raised by a handler: this task fails for good, at once. `error_class` names it."""

    error_class: str = "PERMANENT"

    def __init__(self, *message: object, error_class: str | None = None) -> None:
        super().__init__(*message)
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
    """Raised by an effect's act: it may or may not have happened. The next attempt looks it up, or a person decides."""


class Cancelled(Exception):
    """Raised by a handler that stops because its task was cancelled."""


class Released(Exception):
    """Raised by a handler when `task.stopping`: it gives the task back. At any other time it is an ordinary failure."""
