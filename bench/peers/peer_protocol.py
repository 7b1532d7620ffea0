"""What every process of the side-by-side benchmark speaks: JSON, one object a line. Standard library only.

A client obeys `setup`, `bulk` and `single`. A worker reports that it is ready, waits for `go` (with how many jobs there
are, for a worker that starts them itself), runs until it is killed, and reports the jobs run every few milliseconds.
It ends when its input does, so none outlives the benchmark.
The peer script that imports it runs in its peer's own environment, with nothing of ours installed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Protocol

TICK_SECONDS = 0.02
HOLD_SECONDS = 3_600
KINDS = ("noop", "stamp", "hold", "ten")
URL = os.environ.get("PEER_URL", "")

Payload = dict[str, Any]
# When a call was made and when it returned, in nanoseconds since the epoch.
Call = tuple[int, int]


class Client(Protocol):
    """What a peer does to submit; `kind` is one of KINDS."""

    def setup(self) -> None: ...

    def bulk(self, kind: str, payloads: list[Payload]) -> None: ...

    def singles(self, kind: str, payloads: list[Payload]) -> list[Call]: ...


def payloads(count: int) -> list[Payload]:
    """Make what every peer's jobs carry."""
    return [{"user": number, "address": "someone@example.com", "template": "welcome"} for number in range(count)]


def timed(submit: Callable[[Payload], object], given: list[Payload]) -> list[Call]:
    """Submit one by one."""
    calls = []
    for payload in given:
        started = time.time_ns()
        submit(payload)
        calls.append((started, time.time_ns()))
    return calls


async def timed_async(submit: Callable[[Payload], Awaitable[object]], given: list[Payload]) -> list[Call]:
    """Submit one by one."""
    calls = []
    for payload in given:
        started = time.time_ns()
        await submit(payload)
        calls.append((started, time.time_ns()))
    return calls


_writing = threading.Lock()


def send(**what: object) -> None:
    """Write one line."""
    with _writing:
        print(json.dumps(what), flush=True)


def commands() -> Iterator[dict[str, Any]]:
    """Yield the commands sent to this process."""
    for line in sys.stdin:
        yield json.loads(line)


class Tally:
    """What this worker's jobs did."""

    def __init__(self, expected: int = 0) -> None:
        self.expected = expected
        self.ran = 0
        self.first = 0

    def begin(self) -> None:
        """Note that a job started: what takes steps is counted from its first one on, not from its end."""
        if not self.first:
            self.first = time.time_ns()

    def count(self) -> None:
        """Note that a job ran."""
        self.begin()
        self.ran += 1

    def started(self, kind: str) -> None:
        """Report at once that a job started."""
        send(started=time.time_ns(), kind=kind)

    def report_counts(self) -> None:
        """Report how many ran, until the process ends."""
        reported = 0
        while True:
            time.sleep(TICK_SECONDS)
            if self.ran != reported:
                reported = self.ran
                send(ran=reported, first=self.first)


def serve_client(client: Client) -> None:
    """Obey until there is nothing more to do."""
    for command in commands():
        match command["do"]:
            case "setup":
                client.setup()
                send(done=True)
            case "bulk":
                given = payloads(command["count"])
                started = time.perf_counter()
                client.bulk(command["kind"], given)
                send(seconds=time.perf_counter() - started)
            case "single":
                send(calls=client.singles(command["kind"], payloads(command["count"])))


def serve_worker(work: Callable[[Tally, str], None], mode: str) -> None:
    """Work from `go` until killed. Modes: throughput, steps, latency, default (the peer's own settings)."""
    send(ready=True)
    tally = Tally(next(commands())["go"])
    threading.Thread(target=tally.report_counts, daemon=True).start()
    threading.Thread(target=_end_with_input, daemon=True).start()
    work(tally, mode)


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(1)


def main(client: Callable[[], Client], work: Callable[[Tally, str], None]) -> None:
    """Be what the command line asks for: `client`, or `worker MODE`."""
    if sys.argv[1] == "client":
        serve_client(client())
    else:
        serve_worker(work, sys.argv[2])
