"""An app with jobs that kill their worker, each in its own way, and jobs that only run in the same one."""

import asyncio
import ctypes
import os
import signal
import threading

from leasehold import Leasehold, Retry
from tests.support.apps.app import note

app = Leasehold()
MEMORY_MB = 300


def die(way: str) -> None:
    """End this process at once."""
    if way == "exit":
        os._exit(7)
    if way == "segfault":
        ctypes.string_at(0)
    if way == "memory":  # as the kernel does when memory runs out
        _ = bytearray(b"x") * (MEMORY_MB * 1024 * 1024)
    os.kill(os.getpid(), signal.SIGKILL)


@app.job
def innocent(task, number: int, seconds: float):
    note("ran", number)
    threading.Event().wait(seconds)
    return number


@app.job
async def innocent_async(task, number: int, seconds: float):
    note("ran", number)
    await asyncio.to_thread(threading.Event().wait, seconds)
    return number


@app.job
def deadly(task, way: str):
    note("died", task.lease.task_id, os.getpid())
    die(way)


@app.job(isolated=True)
def deadly_isolated(task, way: str):
    note("died", task.lease.task_id, os.getpid())
    die(way)


@app.job(isolated=False, retry=Retry(losses=4))
def deadly_inside(task, way: str):
    """Never in a process of its own."""
    note("died", task.lease.task_id, os.getpid())
    die(way)
