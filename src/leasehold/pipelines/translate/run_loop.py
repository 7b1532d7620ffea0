"""Running a document to its end: worker processes, and what a person sees meanwhile."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from leasehold.errors import Unavailable
from leasehold.pipelines.crew import (
    LOOK_SECONDS,
    Hand,
    Post,
    Stop,
    WorkersEnded,
    company,
    sleep_unless_stopped,
    words_of,
)
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.documents import Document
from leasehold.pipelines.translate.export import project
from leasehold.pipelines.translate.folder import RunFolder
from leasehold.pipelines.translate.history import PlannedParagraph, planned_paragraphs
from leasehold.pipelines.translate.paragraphs import keys_of
from leasehold.pipelines.translate.toolchain import KIND, ROUND, Toolchain

PROJECT_SECONDS: Final = 10.0
PATIENCE_SECONDS: Final = 60.0
LOOK_SHARE: Final = 5  # of the time at most a sixth goes into looking
ERROR: Final = "ERROR"
ERRORS_MAX: Final = 1_000
FIRST_PASS: Final = (states.INGESTED, states.TRANSLATED_PASS1, states.REVIEWED_PASS1)


@dataclass(frozen=True, slots=True)
class Sight:
    """A run at one moment: paragraphs by state, how many are under way, and how many stand still after a failure."""

    counts: dict[str, int]
    left: int
    failed: int

    @property
    def total(self) -> int:
        """How many paragraphs there are."""
        return sum(self.counts.values())

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self.left == 0


class Watch:
    """Looks at the paragraphs of a document; those that have come to rest are not asked about again."""

    def __init__(self, toolchain: Toolchain, document: Document, *, rework_only: bool = False) -> None:
        self._toolchain = toolchain
        self._left_alone = FIRST_PASS if rework_only else ()
        identity = toolchain.settings.identity
        self._keys = keys_of(identity.run_id, identity.document_id, document.paragraphs)
        self._rested: set[int] = set()

    def look(self) -> Sight:
        """See how far it has come."""
        there = planned_paragraphs(self._toolchain)
        mine = [there[key] for key in self._keys if key in there]
        failed = self._failed()
        awaited = [planned for planned in mine if planned.state not in self._left_alone and _job(planned) not in failed]
        left = [planned for planned in awaited if not self._is_at_rest(planned)]
        counts = Counter(planned.state for planned in mine)
        ordered = {state: counts[state] for state in states.STATES if counts[state]}
        return Sight(ordered, len(left), sum(_job(planned) in failed for planned in mine))

    def _failed(self) -> set[int]:
        app = self._toolchain.app
        return {job.id for kind in (KIND, ROUND) for job in app.jobs(kind=kind, status=ERROR, limit=ERRORS_MAX)}

    def _is_at_rest(self, planned: PlannedParagraph) -> bool:
        job_id = _job(planned)
        if job_id not in self._rested and self._toolchain.app.get(job_id).status.settled:
            self._rested.add(job_id)
        return job_id in self._rested


def _job(planned: PlannedParagraph) -> int:
    """Return the job that a paragraph's state is of."""
    return planned.rounds[-1] if planned.rounds else planned.job_id


def post_of(toolchain: Toolchain, parallel: int, *, rework_only: bool) -> Post:
    """What a worker process of a run is told."""
    more = ("--queue", toolchain.rework_queue) if rework_only else ()
    words = words_of("leasehold.pipelines.translate", parallel, *more)
    return Post(words, toolchain.settings.environment(), RunFolder(toolchain.settings.folder).log)


@dataclass(frozen=True, slots=True)
class Crew:
    """How many processes, how many paragraphs each at once, and whether only reworks are done."""

    workers: int = 1
    parallel: int = 4
    rework_only: bool = False


@dataclass(frozen=True, slots=True)
class RunObserver:
    """Who looks on: is shown each moment, may wish an end, and is asked before each step whether it may be done."""

    show: Callable[[Sight], None] = lambda _: None
    wish: Stop = field(default_factory=Stop)
    check: Callable[[], None] = lambda: None


def work(toolchain: Toolchain, document: Document, crew: Crew, onlooker: RunObserver) -> Sight:
    """Have worker processes work until nothing is left, or until somebody wants an end."""
    watch = Watch(toolchain, document, rework_only=crew.rework_only)
    if (sight := watch.look()).is_over:
        return sight
    post = post_of(toolchain, crew.parallel, rework_only=crew.rework_only)
    with company(post, crew.workers, onlooker.wish) as hands:
        RunLoop(toolchain, document, watch, hands).until_over(onlooker)
    return watch.look()


class RunLoop:
    """Looks until there is nothing left to see, and writes the files from time to time."""

    def __init__(self, toolchain: Toolchain, document: Document, watch: Watch, hands: Sequence[Hand]) -> None:
        self._toolchain = toolchain
        self._document = document
        self._watch = watch
        self._hands = hands
        self._seen_at = self._projected_at = time.monotonic()

    def until_over(self, onlooker: RunObserver) -> None:
        """Look again and again."""
        while onlooker.wish.number is None:
            began = time.monotonic()
            onlooker.check()
            sight = self._look(began)
            if sight is not None:
                onlooker.show(sight)
                if sight.is_over:
                    return
                self._project(began)
            if all(hand.poll() is not None for hand in self._hands):
                log = RunFolder(self._toolchain.settings.folder).log
                raise WorkersEnded(f"See {log}, and run the same again.")
            sleep_unless_stopped(max(LOOK_SECONDS, LOOK_SHARE * (time.monotonic() - began)), onlooker.wish)

    def _look(self, began: float) -> Sight | None:
        try:
            sight = self._watch.look()
        except Unavailable:  # the workers are patient as well
            if began - self._seen_at > PATIENCE_SECONDS:
                raise
            return None
        self._seen_at = began
        return sight

    def _project(self, now: float) -> None:
        if now - self._projected_at >= PROJECT_SECONDS:
            project(self._toolchain, self._document)
            self._projected_at = time.monotonic()
