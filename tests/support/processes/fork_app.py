"""Isolated handlers that fork, or have many effects at once. Tests register their functions with apps of their own.

A child process finds a handler by its name in this module, whichever app submitted the job.
"""

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from pathlib import Path

from leasehold import Leasehold
from tests.support.wait import until

app = Leasehold("sqlite:////nowhere/at/all.db")
FORKS = multiprocessing.get_context("fork")


@app.job(isolated=True)
def ask_from_below(task, *, warm: bool):
    """Have a forked process ask the engine for everything, then go on in the handler itself."""
    if warm:  # the way to the ledger is known before the fork, or not
        task.effect("A", lambda: 1)
    refusals = FORKS.SimpleQueue()
    asked = {
        "effect": lambda: task.effect("B", lambda: 2),
        "transaction": lambda: task.transaction("C", lambda _: 3),
        "inputs": lambda: task.inputs,
        "progress": lambda: task.progress(1),
    }

    def below():
        for name, ask in asked.items():
            try:
                ask()
            except Exception as error:  # noqa: BLE001
                refusals.put((name, getattr(error, "code", ""), str(error)))

    process = FORKS.Process(target=below)
    process.start()
    process.join()
    refused = [refusals.get() for _ in asked] if process.exitcode == 0 else []
    return {"refused": refused, "inputs": task.inputs, "own": task.effect("D", lambda: 4)}


@app.job(isolated=True)
def leave_twice(task, how: str):
    """Leave the handler in a forked process too; return how that one ended."""
    below = os.fork()
    if below == 0:
        return leave(how)
    code = ending_of(below)
    return {"left": "above", "code": code, "effect": task.effect("A", lambda: 1)}


@app.job(isolated=True)
async def leave_twice_async(task, how: str):
    """The same on an event loop, which must go on afterwards."""
    below = os.fork()
    if below == 0:
        return leave(how)
    code = await asyncio.to_thread(ending_of, below)
    return {"left": "above", "code": code, "effect": await task.effect("A", lambda: 1)}


def ending_of(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def leave(how: str) -> dict[str, str]:
    if how == "exit":
        sys.exit(7)
    if how == "raise":
        raise ValueError("by nobody")
    return {"left": "below"}


@app.job(isolated=True)
async def crowd(task, number: int):
    """Have many effects at once while no thread of the loop's is free."""
    gate = threading.Event()
    waiting = [asyncio.to_thread(gate.wait) for _ in range(64)]
    threads = [asyncio.ensure_future(one) for one in waiting]
    await asyncio.sleep(0)
    found = await asyncio.gather(*(task.effect("BUY", lambda n=n: n, number=n) for n in range(number)))
    gate.set()
    await asyncio.gather(*threads)
    return found


@app.job(isolated=True)
def return_refusal(task):
    """Return how the ledger refuses."""
    try:
        return task.effect("BUY", lambda: 1)
    except Exception as error:  # noqa: BLE001
        return [type(error).__name__, str(error)]


@app.job(isolated=True)
def receive_unasked(task):
    """Have the worker answer under a number that nobody here waits for."""
    intent = task.effects.intend("ODD", {})
    task._channel.send(enter={"number": 999, "intent": intent})  # noqa: SLF001 — past what would wait for the answer
    return [task.effect("BUY", lambda n=n: n, number=n) for n in (1, 2)]


@app.job(isolated=True)
def hurry(task):
    """Go ahead of every record."""
    return [task.effect("BUY", lambda n=n: n, ahead=True, number=n) for n in range(3)]


@app.job(isolated=True)
async def hurry_async(task):
    """Likewise, on a loop."""
    return [await task.effect("BUY", lambda n=n: n, ahead=True, number=n) for n in range(3)]


DOOR = app.machine("door", {"shut": ["open"], "open": []}, initial="shut")


@app.job(isolated=True, machine=DOOR)
async def rush(task, state: str):
    """Ask for a move and wait for nothing."""
    task.advance(state)
    return state


@app.job(isolated=True)
def leave_ahead(task):
    """Leave the handler in a forked process too, with a record under way."""
    task.effect("AHEAD", lambda: 0, ahead=True)
    below = os.fork()
    return leave("return") if below == 0 else ending_of(below)


@app.job(isolated=True)
async def leave_ahead_async(task):
    """The same on an event loop."""
    await task.effect("AHEAD", lambda: 0, ahead=True)
    below = os.fork()
    return leave("return") if below == 0 else await asyncio.to_thread(ending_of, below)


@app.job(isolated=True)
def wait_for_signal():
    """Write the numbers of the guard's process and of this one, and wait."""
    Path(os.environ["SUSPECT_PIDS"]).write_text(f"{os.getppid()} {os.getpid()} .", encoding="ascii")
    signal.pause()


@app.job
def wait_for_file(path: str):
    """Wait for a file; return in which process."""
    until(Path(path).exists)
    return os.getpid()


@app.job
def kill_itself():
    os.kill(os.getpid(), signal.SIGKILL)


POOL: list[int] = []


@app.job
def use_pool():
    """Fail where nobody has filled the pool."""
    return POOL[0]
