"""The app whose handlers catch what their effects raise, and look at the clock.

`python -m tests.replay.catching_handlers FOLDER` runs its jobs on the database of LEASEHOLD_URL and exports them.
"""

import contextlib
import os
import subprocess
import sys
import urllib.error
from email.message import Message
from pathlib import Path
from typing import Any

from leasehold import InDoubt, Leasehold, Retry, Transient
from leasehold.testing import Clock, drain

app = Leasehold(os.environ.get("LEASEHOLD_URL", "sqlite:////nowhere/at/all.db"))
ONCE = Retry(attempts=1)


class OutOfStock(Exception):
    """An error that can only be made with what it is about, and has an attribute of its own."""

    def __init__(self, item: str, bin_number: int) -> None:
        super().__init__(f"no {item} in bin {bin_number}")
        self.bin_number = bin_number


class Stocks:
    """A place where a type is found inside another."""

    class Empty(OutOfStock):
        """The bin is empty."""


class Answered(Exception):
    """What a client of HTTP raises."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.response = type("Response", (), {"status_code": status, "headers": {"content-type": "text/plain"}})()


def make_local() -> Exception:
    class Local(LookupError):
        """An error that nobody finds by its name."""

    return Local("somewhere")


ERRORS = {
    "value": lambda: ValueError("7 is not a number"),
    "custom": lambda: OutOfStock("Kaffee", 7),
    "nested": lambda: Stocks.Empty("Tee", 3),
    "key": lambda: KeyError("kaffee"),
    "system": lambda: FileNotFoundError(2, "No such file or directory"),
    "answered": lambda: Answered(404),
    "http": lambda: urllib.error.HTTPError("http://x.test/", 404, "Not Found", Message(), None),
    "process": lambda: subprocess.CalledProcessError(3, ["cmd"]),
    "local": make_local,
    "decode": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    "own": lambda: Transient("later", retry_after=2.5, error_class="SHOP_CLOSED"),
}


def caught(task, name: str) -> dict:
    """Have an effect fail and return how the handler takes it."""

    def act():
        error = ERRORS[name]()
        raise error

    try:
        task.effect("CALL", act, name=name)
    except OutOfStock as error:
        return {"caught": type(error).__qualname__, "text": str(error)}
    except Answered as error:
        return {"caught": "status", "status": error.response.status_code}
    except urllib.error.HTTPError as error:
        return {"caught": "status", "status": error.code}
    except OSError as error:
        return {"caught": "system", "errno": error.errno}
    except (ValueError, LookupError) as error:
        return {"caught": "value or look-up", "text": str(error)}
    except subprocess.CalledProcessError as error:
        return {"caught": "process", "code": error.returncode}
    except Transient as error:
        return {"caught": error.error_class, "text": str(error), "after": error.retry_after}
    return {}


@app.job(retry=ONCE)
def attempt(task, name: str):
    return caught(task, name)


@app.job(retry=ONCE, isolated=True)
def apart(task, name: str):
    return caught(task, name)


@app.job(retry=ONCE)
async def awaiting(task, name: str):
    def act():
        error = ERRORS[name]()
        raise error

    try:
        await task.effect("CALL", act, name=name)
    except (OutOfStock, ValueError) as error:
        return {"caught": type(error).__name__}


@app.job(retry=ONCE)
def wrapping(task):
    def act():
        raise Answered(404)

    try:
        task.effect("CALL", act)
    except Answered as error:
        raise RuntimeError("the shop has no such page") from error


ACTED: list[str] = []


def doubtful(word: str) -> None:
    """An act or a look-up that never knows its result."""
    ACTED.append(word)
    raise InDoubt(word)


CARES: dict[str, dict[str, Any]] = {
    "none": {},
    "lookup": {"lookup": lambda: doubtful("looked up")},
    "idempotent": {"idempotent": True},
}


@app.job(retry=Retry(attempts=2, delay_initial=0))
def shrugging(task, care: str, late: bool):  # noqa: FBT001 — a field of the payload
    """Go on as if an effect were not in doubt, in the attempt that left it so or in the next."""
    try:
        task.effect("CALL", lambda: doubtful("acted"), **CARES[care])
    except Exception as error:
        if late and task.attempt == 1:
            raise Transient("once more") from error
    return {"sure": False}


@app.job(retry=ONCE)
async def shrugging_async(task):
    with contextlib.suppress(Exception):
        await task.effect("CALL", lambda: doubtful("acted"))
    return {"sure": False}


@app.job
def timed(task):
    return {"at": task.started_at.isoformat(), "zone": str(task.started_at.tzinfo)}


@app.job(isolated=True)
def timed_apart(task):
    return {"at": task.started_at.isoformat()}


@app.job(retry=Retry(attempts=3, delay_initial=1, delay_max=5))
def paused(task):
    if task.attempt < 3:
        raise Transient("later", retry_after=17.5 if task.attempt == 1 else 0)
    return task.attempt


JOBS = {
    **{f"attempt {name}": ("attempt", {"name": name}) for name in ERRORS},
    **{f"apart {name}": ("apart", {"name": name}) for name in ("value", "custom")},
    **{f"awaiting {name}": ("awaiting", {"name": name}) for name in ("value", "custom")},
    **{f"shrugging {care}": ("shrugging", {"care": care, "late": True}) for care in CARES},
    "shrugging at once": ("shrugging", {"care": "none", "late": False}),
    "shrugging async": ("shrugging_async", {}),
    **{kind: (kind, {}) for kind in ("wrapping", "timed", "timed_apart", "paused")},
}


def main(folder: Path) -> None:
    """Run every job here, as a program of its own, and export them."""
    clock = Clock(app)
    made = {key: app.submit(kind, payload, key=key) for key, (kind, payload) in JOBS.items()}
    clock.advance(1.000_001)  # a claim has another time than its submit
    drain(app, clock)
    for key, job in made.items():
        with (folder / f"{key}.ndjson").open("w+b") as file:
            app.journal.export(job.id, file)
    app.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
