"""Two databases and a dictionary side by side: the rules about leases and jobs that Hypothesis puts together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from leasehold.model.failure.failure import MESSAGE_STANDS, Failure
from leasehold.model.lease import Settlement
from tests.store import work
from tests.store.model import operations
from tests.store.model.modelled import LEASE_SECONDS, Dead, Loss, Model
from tests.store.model.modelled_jobs import Jobs
from tests.store.model.modelled_outside import Budgets, Ledger, Outbox
from tests.store.model.operations import Held
from tests.store.model.sides import Side

T = TypeVar("T")
KEYS = [f"k{number}" for number in range(5)]
FILMS = ["f0", "f1"]
OPEN = ("default", "side")
NARROW = "narrow"
LIMIT_MAX = 3
LOSSES = [
    Loss("released"),
    Loss("owner gone"),
    Loss("owner gone", delay=3),
]
EITHER = st.booleans()
Ending = tuple[str, list[int] | None, str | None]  # how an attempt ends, a script's scenes, a message
WELL: Ending = ("DONE", [1], None)
BADLY: Ending = ("ERROR", None, None)
POSTING: Ending = ("DONE", [1, 2], "own")
ENDING = st.tuples(
    st.sampled_from(["DONE", "ERROR", "DONE", "RETRY", "DONE", "ERROR"]),
    st.sampled_from([[1, 2], [1], [], None]),
    st.sampled_from([None, "own", "one", "two"]),
)


class Machine(RuleBasedStateMachine):
    """What every rule needs: both sides asked, one answer, and the dictionaries held against it."""

    def __init__(self, sides: list[Side]) -> None:
        super().__init__()
        self.sides = sides
        self.has_begun = False

    @initialize(films=st.integers(0, 2), plain=st.integers(0, 3))
    def begin(self, films: int, plain: int) -> None:
        """Start with a few jobs, so that there is something to do from the first step on."""
        self.forget()
        for key in FILMS[:films]:
            self.add_film(key, 0, 0)
        for key in KEYS[:plain]:
            self.add(key, {"queue": "default", "priority": 0, "delay": 0}, {"attempts_max": 2, "on_lost": "requeue"})

    def forget(self) -> None:
        self.model = Model()
        self.jobs, self.ledger, self.outbox = Jobs(self.model), Ledger(self.model), Outbox(self.model)
        self.budgets = Budgets(self.model)
        self.held: list[Held] = []
        self.dead: set[Held] = set()  # attempts whose worker is gone: they end nothing any more
        self.returned: dict[
            Held, tuple[Any, list[tuple[str, str]]]
        ] = {}  # what an attempt returned, however often it is settled
        for side in self.sides:
            side.begin()
        self.has_begun = True
        self.set_limit(2)

    def add(self, key: str, place: dict[str, Any], terms: dict[str, Any]) -> None:
        made = self.both(lambda side: operations.submit(side, key, **place, **terms))
        assert made == self.jobs.submit(key, **place, **terms)

    def add_film(self, key: str, priority: int, delay: float) -> None:
        made = self.both(lambda side: operations.submit_film(side, key, priority, delay))
        assert made == self.jobs.submit_film(key, priority, delay)
        if made:
            self.budgets.left[key] = operations.BUDGET["tokens"]

    def set_limit(self, most: int) -> None:
        self.both(lambda side: side.store.queues.limit(NARROW, most))
        self.model.limits[NARROW] = most

    def both(self, act: Callable[[Side], T]) -> T:
        """Ask both databases; they must answer alike."""
        first, second = (act(side) for side in self.sides)
        assert first == second
        return first

    def able(self) -> list[Held]:
        """Attempts that can still report an end, whether their lease stands or not."""
        return [one for one in self.held if one not in self.dead]

    def standing(self) -> list[Held]:
        """Attempts that can report an end and will be accepted."""
        return [one for one in self.able() if self.model.stands(*one)]

    def move(self, seconds: float) -> None:
        self.model.now += seconds
        for side in self.sides:
            side.set_clock(self.model.now)

    @invariant()
    def agree(self) -> None:
        """Both databases hold the same rows, and those that the dictionaries hold."""
        if not self.has_begun:
            return
        seen = self.both(lambda side: side.view())
        tasks = {one.name: one for one in self.model.tasks.values() if one.place != "superseded"}
        unseen = seen["unseen"]
        assert {row[0]: (*row[1:7], row[0] in unseen) for row in seen["places"]} == {
            name: one.stands_as for name, one in tasks.items()
        }
        assert {name: [line[:3] for line in lines] for name, lines in seen["journal"].items()} == {
            one.name: one.journal for one in self.model.tasks.values()
        }
        assert seen["ready"] == [
            (queue, one.name) for queue in sorted({*OPEN, NARROW}) for one in self.model.ready(queue)
        ]
        letters = [(one.name, one.epoch, one.error_class, one.attempts, one.state) for one in self.model.letters]
        assert [(*row[:2], row[3], row[5], row[9]) for row in seen["letters"]] == sorted(letters, key=str)
        assert {row[1]: row[2:5] for row in seen["messages"]} == {
            subject: one.stands_as for subject, one in self.outbox.messages.items()
        }
        assert {row[0][0]: row[2] - row[3] for row in seen["budgets"]} == self.budgets.left
        running = sum(one.place == "lease" and one.queue == NARROW for one in tasks.values())
        assert seen["slots"] == ({NARROW: running} if running else {})


class Leasing(Machine):
    """Work comes in, is claimed, kept, given back and swept."""

    @rule(
        key=st.sampled_from(KEYS),
        queue=st.sampled_from([*OPEN, NARROW]),
        priority=st.integers(-1, 1),
        delay=st.sampled_from([0, 0, 0, 5]),
        attempts_max=st.integers(1, 3),
        on_lost=st.sampled_from(["requeue", "requeue", "bury"]),
    )
    def submit(self, key: str, queue: str, priority: int, delay: float, attempts_max: int, on_lost: str) -> None:
        terms: dict[str, Any] = {"attempts_max": attempts_max, "on_lost": on_lost}
        place: dict[str, Any] = {"queue": queue, "priority": priority, "delay": delay}
        self.add(key, place, terms)

    @rule(key=st.sampled_from(FILMS), priority=st.integers(-1, 1), delay=st.sampled_from([0, 0, 5]))
    def submit_film(self, key: str, priority: int, delay: float) -> None:
        self.add_film(key, priority, delay)

    @rule(queues=st.permutations(OPEN), most=st.integers(1, 4))
    def claim(self, queues: list[str], most: int) -> None:
        self.claim_from(queues, most)

    @rule(most=st.integers(1, 4))
    def claim_limited(self, most: int) -> None:
        self.claim_from([NARROW], most)

    def claim_from(self, queues: Sequence[str], most: int) -> None:
        found = self.both(lambda side: operations.claim(side, queues, most, limited=NARROW in queues))
        assert found == [(one.name, one.fence, one.attempt) for one in self.model.claim(queues, most)]
        self.held += [(name, fence) for name, fence, _ in found]

    def some(self, data: Any, most: int = 4) -> list[Held]:
        """Choose attempts: such as will be heard, which are looked for if there is none, or such as come too late."""
        if not self.standing():
            self.claim_all(2)
        if data.draw(EITHER) and self.standing():
            among = self.standing()
        else:
            if len(self.standing()) == len(self.able()):
                self._come_late(is_taken_back=data.draw(EITHER))
            among = self.able()
        return (
            list(data.draw(st.lists(st.sampled_from(among), min_size=1, max_size=most, unique=True))) if among else []
        )

    def _come_late(self, *, is_taken_back: bool) -> None:
        """Let leases run out, and perhaps have others hold what they were for."""
        self.move(LEASE_SECONDS)
        if is_taken_back:
            self.sweep()
            self.claim_all(2)

    def claim_all(self, most: int) -> None:
        self.claim_from(OPEN, most)
        self.claim_from([NARROW], most)

    @rule(data=st.data(), is_noted=EITHER)
    def keep(self, data: Any, *, is_noted: bool) -> None:
        chosen = self.some(data)
        standing = [held for held in chosen if self.model.stands(*held)]
        if is_noted:
            assert self.both(lambda side: operations.note(side, chosen)) == set(standing), "S2"
        reasons = {held: work.REASON if self.model.tasks[held[0]].asked else None for held in standing}
        assert self.both(lambda side: operations.renew(side, chosen)) == reasons, "S2"
        for name, _ in standing:
            self.model.tasks[name].expires = self.model.now + LEASE_SECONDS

    @rule(data=st.data(), loss=st.sampled_from(LOSSES))
    def give_back(self, data: Any, loss: Loss) -> None:
        chosen = self.some(data)
        expected = {held[0] for held in chosen if self.model.holds(*held)}
        vacated = self.both(lambda side: operations.reclaim(side, chosen, loss))
        assert vacated == {name: self.model.reclaim(name, loss) for name in self._in_order(expected)}

    def sweep(self) -> None:
        over = {one.name for one in self.model.tasks.values() if one.place == "lease" and one.expires <= self.model.now}
        swept = self.both(operations.sweep)
        assert swept == {name: self.model.reclaim(name, Loss("expired")) for name in self._in_order(over)}

    def _in_order(self, names: set[Any]) -> list[Any]:
        """In the order in which leases are locked, which is the order in which they come back."""
        return sorted(names, key=lambda name: self.model.tasks[name].number)

    @rule(seconds=st.sampled_from([1, 4, 4, 29, 31]), is_swept=EITHER)
    def pass_time(self, seconds: int, *, is_swept: bool) -> None:
        self.move(seconds)
        if is_swept:
            self.sweep()

    def make_due(self) -> None:
        self.both(lambda side: side.store.stages.make_due().count)
        self.model.make_due()


class Working(Leasing):
    """Attempts end, orchestrators look at it, people call off, pause and revive."""

    @rule(data=st.data(), endings=st.lists(ENDING, min_size=4, max_size=4), is_looked_at=EITHER)
    def settle(self, data: Any, endings: list[Ending], *, is_looked_at: bool) -> None:
        self.settle_all(list(zip(self.some(data), endings, strict=False)))
        if is_looked_at:
            self.advance()
            self.make_due()

    def settle_all(self, wanted: Sequence[tuple[Held, Ending]]) -> None:
        failure = Failure("PERMANENT", "it cannot work")
        ends = []
        for held, (how, scenes, message) in wanted:
            lease = self.sides[0].leases[held]
            own = "ERROR" if how == "RETRY" and lease.failures >= lease.attempts_max else how
            output = {"scenes": scenes} if held[0][1] == "script" and scenes is not None else {"by": held[1]}
            posts = [] if message is None else [(str(held[0][:3]) if message == "own" else "shared", message)]
            output, posts = self.returned.setdefault(held, (output, posts))
            if own == "DONE":
                self.finish_effects(held)
            ends.append((held, own, output, posts))
        landed = self.both(lambda side: operations.settle(side, [operations.end(side, *end, failure) for end in ends]))
        expected = [self._ended(*end) for end in ends if self.model.stands(*end[0])]
        assert landed == sorted(expected, key=str), "S2"

    def _ended(self, held: Held, how: str, output: Any, posts: list[tuple[str, str]]) -> tuple[Any, ...]:
        """Have the dictionaries end an attempt; return what the store must answer."""
        one = self.model.tasks[held[0]]
        if how == "DONE" and not one.asked and any(self.outbox.clashes(*post) for post in posts):
            self.model.settle(held[0], "ERROR", error_class=MESSAGE_STANDS.error_class)
        else:
            self.model.settle(held[0], how, output=output, delay=3, error_class="PERMANENT")
        for post in posts if one.place == "DONE" else []:
            self.outbox.post(*post)
        return *held, "RETRY" if one.place == "waiting" else one.place, one.parent is not None

    def settle_in_doubt(self, held: Held) -> None:
        """Have an attempt end because it does not know what came of an effect."""
        doubt = Failure("EFFECT_IN_DOUBT", "nobody knows")

        def end(side: Side) -> Settlement:
            return operations.end(side, held, "ERROR", None, [], doubt)

        assert len(self.both(lambda side: operations.settle(side, [end(side)]))) == 1
        self.model.settle(held[0], "ERROR", error_class="EFFECT_IN_DOUBT")

    def finish_effects(self, held: Held) -> None:
        """Have nothing left that was begun; see Acting."""

    @rule(in_turn=st.permutations(["advance", "make due", "sweep"]), most=st.integers(1, 3))
    def upkeep(self, in_turn: list[str], most: int) -> None:
        """Do what one pass of upkeep does, in any order, or a part of it."""
        does = {"advance": self.advance, "make due": self.make_due, "sweep": self.sweep}
        for name in in_turn[:most]:
            does[name]()

    def advance(self) -> None:
        self.both(operations.advance)
        self.jobs.advance()

    @precondition(lambda self: self.model.tasks)
    @rule(data=st.data(), what=st.sampled_from(["cancel", "pause", "limit", "limit"]))
    def operate(self, data: Any, what: str) -> None:
        """Do what people do to queues and jobs."""
        if what == "cancel":
            key = data.draw(st.sampled_from(sorted({name[0] for name in self.model.tasks})))
            assert self.both(lambda side: operations.cancel(side, key)) == self.jobs.cancel(key)
        elif what == "pause":
            self.pause_or_resume(data.draw(st.sampled_from([*OPEN, NARROW])))
        else:
            self.set_limit(data.draw(st.integers(1, LIMIT_MAX)))
        self.claim_all(1)
        if what == "cancel":
            self.settle_all([(held, POSTING) for held in self.standing()])

    def pause_or_resume(self, queue: str) -> None:
        if queue in self.model.paused:
            self.both(lambda side: side.store.queues.resume(queue))
        else:
            self.both(lambda side: side.store.queues.pause(queue))
        self.model.paused ^= {queue}

    @rule(data=st.data(), is_evidenced=st.sampled_from([True, True, False]), from_start=EITHER)
    def revive(self, data: Any, *, is_evidenced: bool, from_start: bool) -> None:
        if not self.model.letters:
            self.settle_all([(held, BADLY) for held in self.some(data, 1)])
            self.advance()
        if self.model.letters:
            letter = data.draw(st.sampled_from(self.model.letters))
            self.press(letter, is_evidenced=is_evidenced, from_start=from_start)

    def press(self, letter: Dead, *, is_evidenced: bool, from_start: bool) -> None:
        """Have somebody revive a letter, or get the reason why not."""
        if is_evidenced and letter.state == "open":
            self.both(lambda side: operations.evidence(side, letter.name, letter.epoch))
            letter.evidenced = True
        unanswered = len(self.ledger.unanswered(letter.name))
        expected = self.jobs.refusal(letter, unanswered, from_start=from_start)
        answered = self.both(lambda side: operations.revive(side, letter.name, letter.epoch, from_start=from_start))
        assert answered == expected
        if expected is None:
            (self.jobs.restart if from_start else self.jobs.revive)(letter)
