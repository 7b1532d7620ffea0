"""Who takes part in a storm: workers and the submitter, from one nursery or several."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.processes.chaos_server import Child, Nursery

JOBS_MAX = 1_000_000
CONCURRENCY = 4
WORK = "tests.chaos.work"
SUBMIT = "tests.chaos.submit"


class Company:
    """The processes of one storm. `environment`: what all of them are told."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self._nurseries = [Nursery(environment)]
        self._submitters: list[Child] = []
        self._known_good: set[Child] = set()

    def open_nursery(self, environment: dict[str, str]) -> Nursery:
        """Have another place where workers come from, with an environment of its own from the start."""
        self._nurseries.append(Nursery(self._environment | environment))
        return self._nurseries[-1]

    def hire(self, environment: dict[str, str] | None = None, nursery: Nursery | None = None) -> Child:
        """Start a worker, without waiting for it."""
        options = json.dumps({"concurrency": CONCURRENCY})
        place = nursery or self._nurseries[0]
        return place.start(WORK, options, environment=environment or {}, log=self._log())

    def replace(self, hand: Child) -> Child:
        """Start a worker like this one."""
        return self.hire(hand.environment, hand.nursery)

    def hire_submitter(self, environment: dict[str, str] | None = None) -> Child:
        """Start the submitter; it goes on where the one before ended."""
        self._submitters.append(self.run(SUBMIT, str(JOBS_MAX), environment))
        return self.submitter

    def run(self, module: str, argument: str, environment: dict[str, str] | None = None) -> Child:
        """Start a process that ends by itself."""
        place = self._nurseries[0]
        return place.start(module, argument, environment=environment or {}, log=self._log(), ends_by_itself=True)

    def _log(self) -> Path:
        return self._folder / f"process-{len(self.hands)}.log"

    @property
    def hands(self) -> list[Child]:
        """Every process there ever was."""
        return [hand for nursery in self._nurseries for hand in nursery.children]

    @property
    def workers(self) -> list[Child]:
        """The workers that are running."""
        return [hand for hand in self.hands if hand.running and hand not in self._submitters]

    @property
    def submitter(self) -> Child:
        return self._submitters[-1]

    def wayward(self) -> list[str]:
        """Tell of every process that has ended as nobody told it to: how, and what it said last."""
        found = []
        for hand in self.hands:
            if hand in self._known_good or hand.running:
                continue
            if hand.is_wayward:
                found.append(hand.last_words)
            else:
                self._known_good.add(hand)
        return found

    def close(self) -> None:
        """End every process."""
        for nursery in self._nurseries:
            nursery.close()
