"""The app that worker processes of the tests serve. Its handlers keep a journal of their own, outside the database.

A line of that journal is one `write` to a file opened for appending, so the order of the lines is the order in which
things happened. A handler that waits does so at a gate: a file that a test makes when it wants the handler to go on.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from leasehold import BudgetExceeded, Cancelled, InDoubt, Leasehold, Permanent, Retry, Task, Transient

FOLDER = Path(os.environ["WORKSHOP_FOLDER"])
LEASE = float(os.environ.get("WORKSHOP_LEASE", "30"))
AT_ONCE = Retry(attempts=5, delay_initial=0)

app = Leasehold()


def note(*words: object) -> None:
    journal = os.open(FOLDER / "journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(journal, (" ".join(str(word) for word in words) + "\n").encode())
    os.close(journal)


def is_open(name: str) -> bool:
    return (FOLDER / f"gate-{name}").exists()


def wait_at(name: str, task: Task | None = None) -> None:
    pause = threading.Event()
    while not is_open(name):
        if task is not None and task.cancelled:
            note("cancelled", name, task.attempt)
            raise Cancelled("asked to stop")
        pause.wait(0.02)


@app.job(retry=AT_ONCE)
async def quick(number: int):
    note("ran", number)
    return number


@app.job(retry=AT_ONCE)
async def slow(number: int):
    """Long enough that a kill finds it running."""
    note("ran", number)
    await asyncio.to_thread(threading.Event().wait, 0.01)
    return number


@app.job(queue="hold", lease=LEASE, retry=AT_ONCE)
def hold(task, name: str):
    note("start", name, task.attempt, os.getpid())
    wait_at(name, task)
    note("end", name, task.attempt, os.getpid())
    return {"attempt": task.attempt, "pid": os.getpid()}


@app.job(queue="hold", lease=LEASE, retry=AT_ONCE)
def stubborn(task, name: str):
    """Never looks whether it shall stop."""
    note("start", name, task.attempt, os.getpid())
    wait_at(f"{name}-{task.attempt}")
    note("end", name, task.attempt, os.getpid())
    return {"attempt": task.attempt, "pid": os.getpid()}


@app.job(queue="hold", lease=LEASE, on_lost="bury")
def fragile(task, name: str):
    note("start", name, task.attempt, os.getpid())
    wait_at(name, task)


@app.job(queue="loop", lease=LEASE, retry=AT_ONCE)
async def block(task, name: str):
    """Blocks the event loop, so that what was claimed with it cannot start."""
    note("start", name, task.attempt, os.getpid())
    wait_at(name, task)
    note("end", name, task.attempt, os.getpid())
    return {"attempt": task.attempt}


@app.job(queue="narrow", retry=AT_ONCE)
def narrow(number: int):
    note("in", number)
    threading.Event().wait(0.005)
    note("out", number)


@app.job(isolated=True, lease=LEASE, retry=Retry(attempts=2, delay_initial=0))
def apart(task, act: str = "answer"):
    """Everything an isolated handler may do, chosen by name."""
    note("start", act, task.attempt, os.getpid(), os.getppid())
    return ACTS[act](task)


@app.job(isolated=True)
async def apart_async(number: int):
    await asyncio.to_thread(note, "ran", number)
    return number + 1


@app.job(isolated=True, retry=AT_ONCE)
async def apart_asleep():
    note("start", "apart_asleep")
    try:
        await asyncio.Event().wait()
    finally:
        note("stopped", "apart_asleep")


@app.job(isolated=True, timeout=0.2, retry=Retry(attempts=2, delay_initial=0))
def apart_late(task):
    note("start", "apart_late", task.attempt, os.getpid())
    threading.Event().wait()


@app.job(retry=AT_ONCE)
def spend(task):
    left = task.spend("tokens", 30)
    note("spent", left, task.attempt)
    return left


@app.job(retry=AT_ONCE)
def adopt(task):
    child = task.submit(quick, {"number": 7}, key="seven")
    note("adopted", child.id, task.attempt)
    return child.key


@app.job(isolated=True, retry=AT_ONCE)
def apart_spend(task):
    """Spend and submit from a child process, which dies once after that."""
    left = [task.spend("tokens", 30), task.spend("tokens", 5, key="five")]
    with contextlib.suppress(BudgetExceeded):
        task.spend("tokens", 1_000)
    child = task.submit("quick", {"number": 8}, key="eight")
    if task.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return [*left, child.id]


@app.job(isolated=True)
async def apart_spend_async(task):
    pending = task.spend("tokens", 30)
    child = await task.submit("quick", {"number": 9}, key="nine")
    return [await pending, child.key]


def answer(task):
    for number in range(50):
        task.progress(number, total=50)
    assert task.inputs == {}
    sys.stdout.write("printed by the child\n")
    return {"pid": os.getpid(), "parent": os.getppid(), "attempt": task.attempt, "payload": task.payload}


def read_input(task):
    """A program that reads its standard input finds it empty, and does not take what is meant for the engine."""
    done = subprocess.run(["/bin/cat"], check=True, stdout=subprocess.PIPE)
    return {"read": done.stdout.decode(), "inputs": task.inputs}


DAEMON = """
import os, subprocess
os.setsid()
child = subprocess.Popen(["sleep", "600"])
print(os.getpid(), child.pid, flush=True)
child.wait()
"""


def breed(task):
    """Start a program that leaves for a session of its own, and one of that program's."""
    daemon = subprocess.Popen([sys.executable, "-c", DAEMON], stdout=subprocess.PIPE, text=True)
    assert daemon.stdout is not None
    note("bred", os.getpid(), *daemon.stdout.readline().split())
    wait_at("breed")


def defy(task):
    """Like `breed`, in a process that takes no notice of SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    breed(task)


def swarm(task):
    """Go on starting programs in sessions of their own until somebody ends it."""
    while not is_open("swarm"):
        subprocess.Popen(["/bin/sleep", f"600.{os.environ['WORKSHOP_SWARM']}"], start_new_session=True)
        note("bred")


def die_once(task):
    if task.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"attempt": task.attempt}


def exit_once(task):
    if task.attempt == 1:
        os._exit(3)
    return {"attempt": task.attempt}


def refuse(task):
    raise Permanent("not with me")


def obey(task):
    wait_at("nobody opens this", task)


def return_nothing_json(task):
    return {"bad": float("nan")}


def buy(task):
    """Buy in the first attempt, fail, and get the receipt from the ledger in the second."""

    def act():
        note("bought", task.attempt)
        return {"bought": task.attempt}

    found = task.effect("BUY", act)
    if task.attempt == 1:
        raise Transient
    return found


def deliver(task):
    for name in ("ada", "bob"):
        task.deliver("change-17", f"{name}@example.org", 1, {"text": "é"}, provider="mail")
    return {"attempt": task.attempt}


def shrug(task):
    """Go on as if nothing were in doubt."""

    def act():
        raise InDoubt

    with contextlib.suppress(InDoubt):
        task.effect("BUY", act)


def buy_many(task):
    """Effects of several threads at once; return how many descriptors they left open."""
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with ThreadPoolExecutor(4) as threads:
        bought = list(threads.map(lambda number: task.effect("BUY", lambda: number, number=number), range(20)))
    return {"bought": bought, "opened": len(os.listdir("/proc/self/fd")) - before}  # noqa: PTH208


def book(task):
    return task.transaction("BOOK", lambda connection: connection.execute("SELECT 41 + 1").fetchall()[0][0])


def login(task):
    raise Permanent(f"cannot log in with {os.environ['WORKSHOP_SECRET']}")


ACTS = {
    "defy": defy,
    "login": login,
    "shrug": shrug,
    "deliver": deliver,
    "buy": buy,
    "buy_many": buy_many,
    "book": book,
    "answer": answer,
    "read_input": read_input,
    "breed": breed,
    "swarm": swarm,
    "die_once": die_once,
    "exit_once": exit_once,
    "refuse": refuse,
    "obey": obey,
    "nan": return_nothing_json,
}


@app.job(queue="pay", lease=LEASE, retry=AT_ONCE)
def pay(task, name: str, care: str):
    """One effect; the journal is the outside world. `care` is what it does about an act that may have happened."""

    def act(key: str):
        note("paid", name, key)
        return {"receipt": key[:8]}

    def lookup(key: str):
        found = [line for line in (FOLDER / "journal").read_text().splitlines() if line == f"paid {name} {key}"]
        return {"receipt": key[:8]} if found else None

    note("asked", name, task.attempt)
    found = lookup if care == "lookup" else None
    return task.effect("PAY", act, lookup=found, idempotent=care == "idempotent", name=name)


film = app.pipeline("film")


@film.stage(retry=AT_ONCE)
def script(scenes: int):
    note("ran", "script")
    return {"scenes": list(range(scenes))}


@film.stage(after=script, each="scenes", retry=AT_ONCE)
def audio(task, scenes: int):
    note("ran", "audio", task.segment)
    return task.segment * 10


@film.stage(after=audio, isolated=True, retry=AT_ONCE)
def render(task, scenes: int):
    task.progress(1)
    note("ran", "render")
    return {"audio": task.inputs["audio"]}


@app.job
def refused():
    raise Permanent("not with me")


brittle = app.pipeline("brittle")


@brittle.stage(retry=AT_ONCE)
def first(gate: str):
    note("ran", "first")


@brittle.stage(after=first, retry=AT_ONCE)
def second(gate: str):
    """Fails for good until somebody opens the gate."""
    if not is_open(gate):
        raise Permanent("the gate is shut")
    note("ran", "second")
