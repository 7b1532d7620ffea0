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
from collections.abc import Iterable
from typing import Any, ClassVar, Final

SHOWN_MAX: Final = 80
LARGE: Final = 1e15
SMALL: Final = 1e-6
_error_class: Final = re.compile(r"[A-Z][A-Z0-9_]{2,62}\Z")


class LeaseholdError(Exception):
    """Leasehold could not carry out the call."""

    code: ClassVar[str] = "LEASEHOLD_ERROR"

    def __init_subclass__(cls, code: str = "", **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.code = code or cls.code

    def __init__(self, detail: str = "") -> None:
        message = (type(self).__doc__ or "").strip()
        super().__init__(f"{message} {detail}".strip())
        self.detail = detail


class Misuse(LeaseholdError, code="MISUSE"):
    """The call cannot succeed with these arguments or in this state; change it."""


class Overtaken(LeaseholdError, code="OVERTAKEN"):
    """Another process changed this first; nothing was written."""


class Unavailable(LeaseholdError, code="UNAVAILABLE"):
    """A service that Leasehold needs does not answer; try again later."""


class Broken(LeaseholdError, code="BROKEN"):
    """An invariant does not hold; stop and have a person look at it."""


class KeyConflict(Misuse, code="KEY_CONFLICT"):
    """A job with this kind and key exists with a different payload; use another key or the same payload."""


class PayloadInvalid(Misuse, code="PAYLOAD_INVALID"):
    """The value is not strict JSON that both databases can store."""


class PayloadTooLarge(PayloadInvalid, code="PAYLOAD_TOO_LARGE"):
    """The value is larger than its limit; store it elsewhere and pass a reference."""


class PayloadTooDeep(PayloadInvalid, code="PAYLOAD_TOO_DEEP"):
    """The value is nested deeper than its limit; flatten it."""


class NameInvalid(Misuse, code="NAME_INVALID"):
    """The name of a queue, kind or stage must match ^[a-z][a-z0-9_.-]{0,62}$: lower case, starting with a letter."""


class OptionInvalid(Misuse, code="OPTION_INVALID"):
    """An option is invalid or outside its limits."""


class KindUnknown(Misuse, code="KIND_UNKNOWN"):
    """No handler of this kind is registered here, and no worker has published one; check the spelling."""


class KindTaken(Misuse, code="KIND_TAKEN"):
    """A kind, stage or provider of this name is already registered; give one of them another name."""


class ArgumentsInvalid(Misuse, code="ARGUMENTS_INVALID"):
    """The payload's fields do not match the handler's arguments."""


class GraphInvalid(Misuse, code="GRAPH_INVALID"):
    """The pipeline's stages cannot all run: each needs a unique name and may wait for earlier stages only."""


class MachineInvalid(Misuse, code="MACHINE_INVALID"):
    """A machine's states must match ^[A-Za-z][A-Za-z0-9_.-]{0,62}$, and each must be reachable from the first."""


class StateDenied(Misuse, code="STATE_TRANSITION_DENIED"):
    """The machine does not allow this transition from the current state; nothing was changed."""


class BudgetExceeded(Misuse, code="BUDGET_EXCEEDED"):
    """The budget does not allow this spend; nothing was spent."""


class BudgetUnknown(Misuse, code="BUDGET_UNKNOWN"):
    """The job at the root has no budget of this name; submit it with budget={name: limit}."""


class SpendConflict(Misuse, code="SPEND_CONFLICT"):
    """This key was spent with another amount; give each spend its own key, or none."""


class EachInvalid(Misuse, code="EACH_INVALID"):
    """`each` must name a field of the upstream output that holds a list."""


class FanOutTooLarge(Misuse, code="FAN_OUT_TOO_LARGE"):
    """The list has more items than a stage may have segments; group the items."""


class JobUnknown(Misuse, code="JOB_UNKNOWN"):
    """There is no job with this id."""


class QueueUnserved(Misuse, code="QUEUE_UNSERVED"):
    """No handler is registered for this queue; import the module that defines it or drop the option."""


class StartFailed(Misuse, code="START_FAILED"):
    """A function that was registered with `on_start` failed, so the worker did not start."""


class UrlInvalid(Misuse, code="URL_INVALID"):
    """A database URL is sqlite:///relative/path.db, sqlite:////absolute/path.db or postgresql://host/name."""


class DriverMissing(Misuse, code="DRIVER_MISSING"):
    """The PostgreSQL driver is not installed; run: pip install 'leasehold[postgres]'."""


class ExtraMissing(Misuse, code="EXTRA_MISSING"):
    """A package that this command needs is not installed."""


class AppInvalid(Misuse, code="APP_INVALID"):
    """An app is given as module:attribute, and the attribute must be a Leasehold object."""


class ConnectionForeign(Misuse, code="CONNECTION_FOREIGN"):
    """A transaction is joined through a connection of the engine's own driver to the engine's own database."""


class SecondLibrary(Misuse, code="SECOND_LIBRARY"):
    """A second SQLite library or a plain open() would drop the locks on the file; use apsw or another process."""


class SqliteTooOld(Misuse, code="SQLITE_TOO_OLD"):
    """This SQLite can corrupt a database under concurrent checkpoints; install apsw with SQLite 3.51.3 or later."""


class EncodingUnsupported(Misuse, code="ENCODING_UNSUPPORTED"):
    """The database's encoding must be UTF-8; make one: CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0."""


class SchemaMissing(Misuse, code="SCHEMA_MISSING"):
    """The database has no Leasehold schema, or an older one; run `leasehold migrate`."""


class SchemaTooNew(Misuse, code="SCHEMA_TOO_NEW"):
    """The database was migrated by a newer Leasehold; upgrade this one."""


class SchemaForeign(Misuse, code="SCHEMA_FOREIGN"):
    """This database has tables with Leasehold's names that no released version made; use a new database."""


class ResultRefused(Misuse, code="RESULT_REFUSED"):
    """The database refused to store this result."""


class EffectBusy(Misuse, code="EFFECT_BUSY"):
    """This effect is already running in the same attempt; wait for it, or give each effect different fields."""


class EffectSettled(Overtaken, code="EFFECT_SETTLED"):
    """The effect has a result, belongs to another task, or its letter is not open; see `leasehold effects JOB`."""


class EffectTooLarge(Misuse, code="EFFECT_TOO_LARGE"):
    """The act was done, but its result exceeds the size limit and was not recorded; return a reference instead."""

    def __init__(self, detail: str = "", result: object = None) -> None:
        super().__init__(detail)
        self.result = result


class EffectInDoubt(Broken, code="EFFECT_IN_DOUBT"):
    """An earlier attempt may have done this effect without recording it; a person decides: `leasehold dead list`."""


class VersionStale(Misuse, code="VERSION_STALE"):
    """A newer version of this job was submitted; submit a strictly higher version."""


class VersionPruned(Misuse, code="VERSION_PRUNED"):
    """This version of the job was pruned with its result; submit a strictly higher version to run it again."""


class DeliveryUnknown(Misuse, code="DELIVERY_UNKNOWN"):
    """There is no delivery with this id; list them with `leasehold deliveries list`."""


class DeliveryConflict(Misuse, code="DELIVERY_CONFLICT"):
    """One task delivers two different messages to the same recipient under one subject and version."""


class DeliverySettled(Overtaken, code="DELIVERY_SETTLED"):
    """This delivery is not in doubt, reconciling or failed, so it takes no answer."""


class LetterUnknown(Misuse, code="LETTER_UNKNOWN"):
    """There is no dead letter with this id; list them with `leasehold dead list`."""


class EvidenceMissing(Misuse, code="EVIDENCE_MISSING"):
    """A dead letter is revived only after its remedy was written down as evidence."""


class EffectUnanswered(Misuse, code="EFFECT_UNANSWERED"):
    """An effect of this task may or may not have happened; record which with `leasehold dead answer` first."""


class JobCancelled(Misuse, code="JOB_CANCELLED"):
    """The job was cancelled, so its dead letters cannot be revived; they can be resolved."""


class JobNotFree(Misuse, code="JOB_NOT_FREE"):
    """The job cannot be leased now: it has ended, is waiting, or another worker holds its lease."""


class JobUnfinished(Misuse, code="JOB_UNFINISHED"):
    """The job has not ended yet, or not with the status that this needs."""


class LetterOpen(Misuse, code="LETTER_OPEN"):
    """Only a dead letter that was revived, or whose job was cancelled, can be resolved."""


class LetterRevived(Overtaken, code="LETTER_REVIVED"):
    """The dead letter is no longer open: it was revived or resolved; see `leasehold dead show`."""


class RecordDamaged(Misuse, code="RECORD_DAMAGED"):
    """The file is not a complete, unchanged record; export the job again."""


class ProjectionDamaged(Misuse, code="PROJECTION_DAMAGED"):
    """The file differs from the journal; move it away, and a new one is written from the beginning."""


class ProjectionForeign(Misuse, code="PROJECTION_FOREIGN"):
    """The file belongs to another database or job; name another file, or the database and job it came from."""


class ProjectionBusy(Unavailable, code="PROJECTION_BUSY"):
    """Another process is writing this file; stop it first, or name another file."""


class LeaseLost(Overtaken, code="LEASE_LOST"):
    """The lease is no longer valid: it expired or another worker has it; stop and change nothing."""


class DatabaseUnavailable(Unavailable, code="DATABASE_UNAVAILABLE"):
    """The database cannot be reached or did not answer in time; check its URL and that it is running."""


class RightsMissing(DatabaseUnavailable, code="RIGHTS_MISSING"):
    """The database answers, but denies this user what the call needs."""


class DiskFull(DatabaseUnavailable, code="DISK_FULL"):
    """No space is left on the disk; free some and try again."""


class TimedOut(Unavailable, code="TIMEOUT"):
    """The attempt ran longer than the timeout of its job or stage."""


class WaitTimeout(Unavailable, code="WAIT_TIMEOUT"):
    """The work did not end within the given time; wait again, or see `leasehold show`."""


def shown(value: object) -> str:
    """Return a value as a message quotes it: a text in quotation marks, a number without; at most a line of it."""
    text = repr(value[:SHOWN_MAX] if isinstance(value, str) else value)
    return text if len(text) <= 2 * SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


def number_text(value: float) -> str:
    """Return a number as people write it: 31,622,400 and not 3.16224e+07, 0.000001 and not 1e-06."""
    if isinstance(value, int):
        return f"{value:,}"
    if not SMALL <= abs(value) < LARGE:
        return f"{value:g}"
    shown_value = value if value == value // 1 else float(f"{value:g}")
    return f"{shown_value:,.6f}".rstrip("0").rstrip(".")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the known name that is nearest, to be added to another; empty if none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1)
    return f" Did you mean '{near[0]}'?" if near else ""


def check_error_class(name: object) -> str:
    """Return `name` if it is a valid error class."""
    if isinstance(name, str) and _error_class.match(name):
        return name
    raise OptionInvalid(f"An error class is named ^[A-Z][A-Z0-9_]{{2,62}}$; got {shown(name)}.")


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
