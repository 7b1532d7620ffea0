"""One run: trials that choose settings, then rounds in which all follow each other, each time another one first."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from bench.compare.figures import Results, Sample
from bench.compare.run import turned
from bench.downloads.fetchers import LARGE, RETRY, SMALL, Fetcher, fetch
from bench.downloads.server import Matter, Source, small_sizes

DATABASE = "sqlite"
TRIALS = 2  # of each, one after the other: a noise must not choose
# The large file comes first: a disk that has just synced thousands of small ones is slow for a while, and of those who
# fetch a large one we alone sync it.
WORKLOADS = ("large", "one", "small", "again")
CANDIDATES = {"small": SMALL, "large": LARGE, "again": RETRY, "one": SMALL}


@dataclass(frozen=True, slots=True)
class Size:
    """How much is fetched, and how often."""

    rounds: int
    files: int
    bytes: int


FULL = Size(5, 5_000, 500_000_000)
QUICK = Size(1, 300, 50_000_000)


@dataclass(slots=True)
class Run:
    """What a run knows while it goes on."""

    source: Source
    size: Size
    results: Results
    path: Path
    wanted: set[str]

    def measure(self) -> None:
        """Measure every workload that is wanted."""
        for workload in (name for name in WORKLOADS if name in self.wanted):
            matter = self.source.make(workload, self._sizes(workload))
            chosen = self._choose(workload, matter, CANDIDATES[workload])
            self.results.facts["settings"][workload] = {one.name: one.settings for one in chosen}
            self._rounds(workload, matter, chosen)

    def _sizes(self, workload: str) -> list[int]:
        match workload:
            case "small" | "again":
                return small_sizes(self.size.files)
            case "large":
                return [self.size.bytes]
            case _:
                return [4_000]

    def _choose(self, workload: str, matter: Matter, candidates: dict[str, list[Fetcher]]) -> list[Fetcher]:
        """Return the fastest of each program's settings; for one tiny file they do not matter."""
        found = []
        for options in candidates.values():
            if workload == "one" or len(options) == 1:
                found.append(options[0])
                continue
            seconds = [(self._trial(workload, one, matter), one) for _ in range(TRIALS) for one in options]
            found.append(min(seconds, key=itemgetter(0))[1])
        return found

    def _trial(self, workload: str, fetcher: Fetcher, matter: Matter) -> float:
        seconds = fetch(fetcher, matter)
        self.results.facts["trials"].append([workload, fetcher.name, fetcher.settings, round(seconds, 2)])
        print(f"  trial {workload:<8}{fetcher.name:<12}{seconds:>10.2f} s  {fetcher.settings}", flush=True)
        return seconds

    def _rounds(self, workload: str, matter: Matter, fetchers: list[Fetcher]) -> None:
        for number in range(self.size.rounds):
            for fetcher in turned(fetchers, number, self.size.rounds):
                seconds = fetch(fetcher, matter)
                self.results.add(Sample(DATABASE, fetcher.name, workload, number, seconds))
                print(f"  {number + 1:<6}{workload:<8}{fetcher.name:<12}{seconds:>10.2f} s", flush=True)
            self.results.save(self.path)
