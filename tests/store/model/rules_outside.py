"""The rules about what reaches the outside world, and how everything comes to its end."""

from __future__ import annotations

import sys
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from leasehold import canonical
from tests.store.model import operations
from tests.store.model.modelled import ENDED
from tests.store.model.modelled_outside import DELIVERY_SECONDS, Act
from tests.store.model.operations import Held
from tests.store.model.rules import EITHER, LIMIT_MAX, NARROW, POSTING, WELL, Working
from tests.support.oracle.oracle import Evidence, judge

ROUNDS_MAX = 60
ROUND_SECONDS = 61
FAILED = '{"error_class":"TRANSIENT","message":"not this time"}'


class Acting(Working):
    """Effects are intended, done and recorded; workers die in between; people answer what they found out."""

    @rule(
        data=st.data(),
        number=st.integers(0, 1),
        way=st.sampled_from(["record", "record twice", "die before", "die after", "fail", "give up"]),
    )
    def act(self, data: Any, number: int, way: str) -> None:
        for held in self.some(data, 1):
            self.act_once((held[0][0], held[0][1], held[0][2], number), held, way)

    def act_once(self, act: Act, held: Held, way: str) -> None:
        """Do what a task does for one effect, as far as it gets."""
        verdict = self.ledger.intend(act, held)
        effect = self.ledger.effects.get(act)
        known = effect.result if effect is not None and verdict == "done" else None
        assert self.both(lambda side: operations.intend(side, act, held)) == ([(verdict, known)] if verdict else []), (
            "S2, S4"
        )
        if verdict == "doubt" and way == "give up":
            self.settle_in_doubt(held)
        elif verdict in ("act", "doubt"):
            self._go_on(act, held, way, may_be_done=verdict == "doubt")

    def _go_on(self, act: Act, held: Held, way: str, *, may_be_done: bool) -> None:
        effect = self.ledger.effects[act]
        if may_be_done:
            self.both(lambda side: operations.saw_look(side, act, held, effect.really))
        if way == "die before":
            self.dead.add(held)
        elif way == "fail" and effect.really is None:
            self._record(act, held, None)
        else:
            if effect.really is None:
                effect.really = canonical.encode({"receipt": len(self.sides[0].witness.lines)})
                self.both(lambda side: operations.saw_act(side, act, held, str(effect.really)))
            if way == "die after":
                self.dead.add(held)
            else:
                self._record(act, held, effect.really)
            if way == "record twice":
                self._record(act, held, '"another"')

    def _record(self, act: Act, held: Held, result: str | None) -> None:
        failure = FAILED if result is None else None
        landed = self.both(lambda side: operations.record(side, act, held, result, failure))
        assert landed == self.ledger.record(act, held, result, failure)

    def finish_effects(self, held: Held) -> None:
        for act in self.ledger.begun(held[0]):
            self.act_once(act, held, "record")

    @precondition(lambda self: self.unanswered())
    @rule(data=st.data())
    def answer(self, data: Any) -> None:
        letter, act = data.draw(st.sampled_from(self.unanswered()))
        effect = self.ledger.effects[act]
        answered = self.both(
            lambda side: operations.answer(side, letter.name, letter.epoch, act, effect.by, effect.really)
        )
        assert answered is None
        effect.result, effect.failure = effect.really, None if effect.really else FAILED

    def unanswered(self) -> list[Any]:
        letters = [letter for letter in self.model.letters if letter.state == "open"]
        return [(letter, act) for letter in letters for act in self.ledger.unanswered(letter.name)]


class Spending(Acting):
    """Attempts spend from the budgets of their jobs, several in one batch, and some come too late."""

    @rule(
        data=st.data(),
        amounts=st.lists(st.sampled_from([0, 5, 10, 20, 40]), min_size=4, max_size=4),
        number=st.integers(1, 3),
    )
    def spend(self, data: Any, amounts: list[int], number: int) -> None:
        asked = [(held, amount, number) for held, amount in zip(self.some(data), amounts, strict=False)]
        asked = list({held[0]: one for one in asked for held in [one[0]]}.values())  # one of each task
        found = self.both(lambda side: operations.spend(side, asked))
        answers = {one[0][0]: self.budgets.spend(*one) for one in asked}
        assert found == {name: answer for name, answer in answers.items() if answer is not None}, "S2, S9"


class Carrying(Spending):
    """Messages are claimed, sent, marked and forgotten; at the end the oracle judges both databases."""

    def take(self) -> None:
        before = {subject: one.status for subject, one in self.outbox.messages.items()}
        found = self.both(operations.take)
        assert found == {
            subject: (one.fence, one.attempts, before[subject]) for subject, one in self.outbox.take().items()
        }

    @rule(is_found=EITHER)
    def lose_relay(self, *, is_found: bool) -> None:
        """A relay dies with what it has only claimed and what it has begun; it is found gone, or its claims run out."""
        before = {subject: one.status for subject, one in self.outbox.messages.items()}
        found = self.both(operations.claim_messages)
        assert found == {
            subject: (one.fence, one.attempts, before[subject]) for subject, one in self.outbox.claim().items()
        }
        for side in self.sides:
            side.taken.clear()
        if is_found:
            assert self.both(operations.give_back) == self.outbox.give_back()

    def on_the_way(self) -> list[tuple[str, int]]:
        return sorted(self.sides[0].taken)

    @rule(
        data=st.data(),
        is_late=EITHER,
        way=st.sampled_from(["sent", "sent", "maybe", "lost", "not sent", "refused", "unknown", "die"]),
    )
    def carry(self, data: Any, way: str, *, is_late: bool) -> None:
        if not self.outbox.messages:
            self.settle_all([(held, POSTING) for held in self.some(data)])
        self.take()
        if is_late:
            self.move(DELIVERY_SECONDS)
            self.take()
        if on_the_way := self.on_the_way():
            self.carry_one(data.draw(st.sampled_from(on_the_way)), way)

    def carry_one(self, held: tuple[str, int], way: str) -> None:
        """Do what a courier does with one message; `way` is what its provider does."""
        message = self.outbox.messages[held[0]]
        how, sends, marks = way, False, True
        if self.sides[0].taken[held].may_be_sent and (message.really or way == "unknown"):
            how = "unknown" if way == "unknown" else "found"
        elif not self.outbox.is_held(*held):
            how = "released"
        elif way in ("sent", "maybe", "die", "unknown"):
            how, sends, marks = "maybe" if way in ("maybe", "unknown") else "sent", True, way != "die"
            message.really = True
        elif way == "lost":
            how = "maybe"
        mark, landed = self.both(lambda side: operations.carry(side, held, how, sends=sends, marks=marks))
        assert landed == (marks and self.outbox.mark(held[0], mark)), "S14"
        for side in self.sides:
            del side.taken[held]

    @precondition(lambda self: self.outbox.messages)
    @rule(data=st.data())
    def answer_message(self, data: Any) -> None:
        subject = data.draw(st.sampled_from(sorted(self.outbox.messages)))
        sent = self.outbox.messages[subject].really
        refused = self.both(lambda side: operations.answer_message(side, subject, sent=sent))
        assert refused == (None if self.outbox.answer(subject, sent=sent) else "DELIVERY_SETTLED")

    def teardown(self) -> None:
        """Let everything come to its end, and have the oracle judge both databases."""
        if not self.has_begun or sys.exception() is not None:
            return
        for queue in sorted(self.model.paused):
            self.pause_or_resume(queue)
        rounds = 0
        while not self._is_over():
            rounds += 1
            assert rounds < ROUNDS_MAX, "L1: it does not come to an end"
            self._go_round()
        self.agree()
        for side in self.sides:
            wrong = judge(Evidence(side.look, side.witness.lines, {NARROW: LIMIT_MAX}))
            assert not wrong, wrong

    def _is_over(self) -> bool:
        tasks = self.model.tasks.values()
        messages = self.outbox.messages.values()
        settled = all(one.place in (*ENDED, "superseded") and not one.unseen for one in tasks)
        return settled and all(one.due is None for one in messages)

    def _go_round(self) -> None:
        self.advance()
        self.make_due()
        self.claim_all(100)
        self.settle_all([(held, WELL) for held in self.standing()])
        self.take()
        for held in self.on_the_way():
            self.carry_one(held, "sent")
        self.move(ROUND_SECONDS)
        self.sweep()
