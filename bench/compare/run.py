"""One run: every workload of every peer, as often as asked, in an order that turns with each repeat.

Peers of one workload follow each other directly, and start with another one each time, so that whatever else the
machine does falls on all of them. How many jobs a peer gets follows from how fast it was, so that each drain lasts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from bench.compare import workloads
from bench.compare.figures import Results, Sample
from bench.compare.install import BENCH, PeerMissing, install
from bench.compare.peers import POSTGRES, SQLITE, Peer, Way, on
from bench.compare.place import Ground, Place
from bench.compare.recovery import Case, recover
from bench.compare.workloads import Readings, Subject

WORKLOADS = ("bulk", "single", "drain1", "drain2", "latency", "steps", "cost", "snapshot", "history", "recovery")
ONLY_POSTGRES = {"cost", "snapshot"}
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured. A drain gets as many jobs as the peer runs in `seconds`, within bounds."""

    repeats: int
    seconds: float
    jobs_min: int
    jobs_max: int
    singles: int
    stamps: int
    settled: int
    recovery: float


FULL = Size(3, 3.0, 300, 400_000, 1_000, 100, 1_000_000, 60.0)
QUICK = Size(1, 1.5, 100, 40_000, 200, 20, 50_000, 10.0)
TRIAL_JOBS = 200
FAILURES_MAX = 2


@dataclass(slots=True)
class Run:
    """What a run knows while it goes on."""

    ground: Ground
    size: Size
    results: Results
    path: Path
    chosen: set[str]
    wanted: set[str]
    rates: dict[tuple[str, str, str], float] = field(default_factory=dict)
    histories: dict[tuple[str, str], Place] = field(default_factory=dict)
    ways: dict[tuple[str, str], Way] = field(default_factory=dict)
    failures: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def subjects(self, database: str) -> list[Subject]:
        """Return who is measured on a database; who cannot be installed is written down once."""
        return [Subject(peer, self.ground, database) for peer in on(database) if self._can(peer, database)]

    def _can(self, peer: Peer, database: str) -> bool:
        if self.chosen and peer.name not in self.chosen:
            return False
        try:
            self.results.facts["versions"][peer.name] = install(peer)
            self.results.facts["settings"][peer.name] = peer.settings
        except (PeerMissing, OSError) as missing:
            self.lack(database, peer.name, "everything", str(missing))
            return False
        return True

    def fail(self, subject: Subject, workload: str, repeat: int, failure: Exception) -> None:
        """Write down that a workload failed in a repeat; what failed too often is not tried again."""
        self.failures[subject.database, subject.peer.name, workload] += 1
        reason = " ".join(str(failure).split()).replace(f"{BENCH.parent}/", "") or type(failure).__name__
        self.lack(subject.database, subject.peer.name, workload, f"failed in repeat {repeat + 1}: {reason}")

    def has_failed(self, subject: Subject, workload: str) -> bool:
        """Whether there is no use in trying that again."""
        return self.failures[subject.database, subject.peer.name, workload] >= FAILURES_MAX

    def lack(self, database: str, peer: str, workload: str, reason: str) -> None:
        """Write down that something was not measured."""
        entry = (database, peer, workload, reason)
        if entry not in self.results.missing:
            self.results.missing.append(entry)
            print(f"  {database:<9}{workload:<10}{peer:<17}not measured: {reason}", flush=True)

    def keep(self, subject: Subject, repeat: int, metric: str, value: float | None, note: str = "") -> None:
        """Write down a figure."""
        self.results.add(Sample(subject.database, subject.peer.name, metric, repeat, value, note))
        shown = f"{value:>14,.2f}" if value is not None else f"{note:>14}"
        print(f"  {repeat + 1}  {subject.database:<9}{metric:<11}{subject.peer.name:<17}{shown}", flush=True)

    def count(self, subject: Subject, metric: str, share: float = 1.0) -> int:
        """Return how many jobs last long enough, by what this peer did before."""
        key = (subject.database, subject.peer.name, metric)
        rate = self.rates.get(key) or self._trial(subject, metric)
        self.rates[key] = rate
        return self._jobs(rate * share)

    def _jobs(self, rate: float) -> int:
        return int(max(self.size.jobs_min, min(self.size.jobs_max, rate * self.size.seconds)))

    def _trial(self, subject: Subject, metric: str) -> float:
        match metric:
            case "bulk":
                return workloads.bulk(subject, TRIAL_JOBS * 5)["bulk"].value
            case "steps":
                return self._choose_way(subject) / workloads.STEPS
        small = workloads.drain(subject, TRIAL_JOBS)["drain 1"].value
        # A short drain is mostly start: the second trial is long enough to show the rate of a fast peer.
        return workloads.drain(subject, int(max(TRIAL_JOBS, min(self.size.jobs_max, small))))["drain 1"].value

    def _choose_way(self, subject: Subject) -> float:
        """Try all ways to run jobs of steps, remember the fastest, and return its rate.

        With few jobs many clients find too little to do; so all are tried again at the length of a measurement.
        """
        rates = {way: workloads.steps(subject, TRIAL_JOBS // 2, way)["steps"].value for way in subject.peer.ways}
        if len(rates) > 1:
            count = self._jobs(max(rates.values()) / workloads.STEPS)
            rates = {way: workloads.steps(subject, count, way)["steps"].value for way in rates}
        best = max(rates, key=rates.__getitem__)
        self.ways[subject.database, subject.peer.name] = best
        if len(rates) > 1:
            tried = "; ".join(f"{way.name}: {rate:,.0f}" for way, rate in rates.items())
            self.results.facts["ways"][f"{subject.database} {subject.peer.name}"] = f"{best.name} (trial: {tried})"
        return rates[best]

    def learn(self, subject: Subject, metric: str, rate: float) -> None:
        """Remember how fast a peer was, for the size of its next drain."""
        self.rates[subject.database, subject.peer.name, metric] = rate


def turned(items: list[Item], repeat: int, repeats: int) -> list[Item]:
    """Return the same items, starting further on at each repeat."""
    shift = repeat * max(1, len(items) // repeats) % max(1, len(items))
    return items[shift:] + items[:shift]


def measure(run: Run) -> None:
    """Take everything that is wanted."""
    everyone = {database: run.subjects(database) for database in (POSTGRES, SQLITE)}
    for repeat in range(run.size.repeats):
        for database, subjects in everyone.items():
            for workload in _applicable(run, database):
                take(run, turned(subjects, repeat, run.size.repeats), workload, repeat)
        if "recovery" in run.wanted:
            everybody = [subject for subjects in everyone.values() for subject in subjects]
            _recover(run, turned(everybody, repeat, run.size.repeats), repeat)


def _applicable(run: Run, database: str) -> Iterator[str]:
    for workload in MEASURES:
        if workload in run.wanted and not (database == SQLITE and workload in ONLY_POSTGRES):
            yield workload


def take(run: Run, subjects: list[Subject], workload: str, repeat: int) -> None:
    """Take one workload of everybody; who fails is written down, and all is kept after each."""
    for subject in subjects:
        peer = subject.peer
        if (workload == "steps" and not peer.ways) or run.has_failed(subject, workload):
            continue
        if peer.only and workload not in peer.only:
            continue
        if workload in peer.lacks:
            run.lack(subject.database, peer.name, workload, peer.lacks[workload])
            continue
        try:
            for metric, reading in MEASURES[workload](run, subject).items():
                run.keep(subject, repeat, metric, reading.value, reading.note)
        except Exception as failure:  # noqa: BLE001 - however a peer fails, it is a finding and not the end of the run
            run.fail(subject, workload, repeat, failure)
        run.results.save(run.path)


def _bulk(run: Run, subject: Subject) -> Readings:
    found = workloads.bulk(subject, run.count(subject, "bulk", 0.5))
    run.learn(subject, "bulk", found["bulk"].value)
    return found


def _drain_one(run: Run, subject: Subject) -> Readings:
    found = workloads.drain(subject, run.count(subject, "drain"))
    run.learn(subject, "drain", found["drain 1"].value)
    return found


def _steps(run: Run, subject: Subject) -> Readings:
    count = run.count(subject, "steps")
    found = workloads.steps(subject, count, run.ways[subject.database, subject.peer.name])
    run.learn(subject, "steps", found["steps"].value / workloads.STEPS)
    return found


def _history(run: Run, subject: Subject) -> Readings:
    key = (subject.database, subject.peer.name)
    count = run.count(subject, "drain")
    place = run.histories.pop(key, None) or _make_history(run, subject)
    found = workloads.drain_with_history(subject, place, count)
    if not found["history"].note:  # what was stopped half-way is of no use to the next repeat
        run.histories[key] = place
    return found


def _make_history(run: Run, subject: Subject) -> Place:
    place = run.ground.place(subject.database)
    made = workloads.make_history(subject, place, run.size.settled)
    run.results.facts["histories"][f"{subject.database} {subject.peer.name}"] = made
    return place


MEASURES: dict[str, Callable[[Run, Subject], Readings]] = {
    "bulk": _bulk,
    "single": lambda run, subject: workloads.single(subject, run.size.singles),
    "drain1": _drain_one,
    "drain2": lambda run, subject: workloads.drain(subject, run.count(subject, "drain"), 2),
    "latency": lambda run, subject: workloads.latency(subject, run.size.stamps),
    "steps": _steps,
    "cost": lambda run, subject: workloads.cost(subject, run.count(subject, "drain", 0.25)),
    "snapshot": lambda run, subject: workloads.drain(subject, run.count(subject, "drain"), pinned=True),
    "history": _history,
}


def _recover(run: Run, subjects: list[Subject], repeat: int) -> None:
    whole = [subject for subject in subjects if not subject.peer.only]
    cases = [Case(subject, is_replaced) for is_replaced in (True, False) for subject in whole]
    tried = [case for case in cases if not run.has_failed(case.subject, _metric(case))]
    for case, outcome in zip(tried, recover(tried, run.size.recovery), strict=True):
        if isinstance(outcome, Exception):
            run.fail(case.subject, _metric(case), repeat, outcome)
        else:
            note = "" if outcome is not None else f"not within {run.size.recovery:.0f} s"
            run.keep(case.subject, repeat, _metric(case), outcome, note)
    run.results.save(run.path)


def _metric(case: Case) -> str:
    return "restart" if case.is_replaced else "recovery"
