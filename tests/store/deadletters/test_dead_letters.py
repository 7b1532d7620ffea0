"""Dead letters: one for every burial, kept for good, with what an operator needs and who did what about it."""

import json

import pytest

from leasehold.errors import (
    EffectSettled,
    EffectUnanswered,
    EvidenceMissing,
    JobUnfinished,
    LetterOpen,
    LetterRevived,
    LetterUnknown,
)
from leasehold.model.effect import intend
from leasehold.model.failure import loss
from leasehold.model.failure.failure import Failure
from leasehold.model.graph import Definition
from leasehold.model.task import Terms
from leasehold.store.deadletters import LetterFilter
from tests.store.deadletters.buried_tasks import DENIED, REMEDY, buried_job, bury, letters, only_letter, revive, run
from tests.store.model.invariants import check_everything
from tests.store.work import (
    advance,
    claim,
    claim_one,
    finish,
    look,
    pipeline,
    retry,
    routes_of,
    stage,
    status,
    submit,
)

IN_DOUBT = Failure("EFFECT_IN_DOUBT", "it may have been sent")


def actions_on(store, letter):
    lines = store.audit.list("dead_letter", letter.id)
    return [(line.principal, line.action, json.loads(line.detail)) for line in lines]


def test_a_task_that_fails_for_good_leaves_a_letter_with_its_first_and_last_failure(store, worker, clock):
    (task,) = submit(store, "k")
    store.leases.settle([retry(claim_one(store, worker), 10)])
    first = store.reports.health().now
    clock.advance(60)
    store.stages.make_due()
    bury(store, [claim_one(store, worker)])
    letter = only_letter(store)
    assert (letter.task_id, letter.epoch, letter.attempts, letter.error_class) == (task, 1, 2, "AUTH_DENIED")
    assert (letter.first_failure_at, letter.last_failure_at) == (first, store.reports.health().now)
    assert (letter.state, letter.escalated, letter.evidenced) == ("open", False, False)
    papers = store.deadletters.get(letter.id)
    assert (papers.key, papers.payload) == ("k", "{}")
    assert json.loads(papers.failure)["stack"] == "Traceback of the failure"


def sweep(store):
    store.leases.reclaim([loss.decide(one, ()) for one in store.losses.expired()])


def try_twice_and_bury(store, worker, clock, by_sweep):
    """Have a task fail twice, a minute apart, and then for good; return when the first failure was."""
    for _ in range(2):
        lease = claim_one(store, worker)
        clock.advance(31 if by_sweep else 1)
        if by_sweep:
            sweep(store)
        else:
            store.leases.settle([retry(lease, 1)])
        clock.advance(60)
        store.stages.make_due()
    claim_one(store, worker) if by_sweep else bury(store, [claim_one(store, worker)])
    clock.advance(31)
    sweep(store)
    name = "reclaimed" if by_sweep else "retried"
    return [row[0] for row in look(store, f"SELECT at FROM event WHERE name = '{name}' ORDER BY id")]  # noqa: S608


@pytest.mark.parametrize("by_sweep", [False, True], ids=["failed", "lost"])
def test_a_dead_letter_names_the_attempts_and_the_first_failure_of_its_own_epoch(store, worker, clock, by_sweep):
    store.tasks.publish(Definition("a", Terms(), losses=3))
    submit(store, "k", attempts_max=3)
    first = try_twice_and_bury(store, worker, clock, by_sweep)[0]
    revive(store, only_letter(store))
    count = len(look(store, "SELECT 1 FROM event WHERE name IN ('retried', 'reclaimed')"))
    second = try_twice_and_bury(store, worker, clock, by_sweep)[count]
    found = [(letter.attempts, letter.first_failure_at) for letter in letters(store)]
    assert found == [(3, first), (3, second)]


@pytest.mark.parametrize("on_lost", ["requeue", "bury"], ids=["spent", "not to be repeated"])
def test_a_task_buried_by_a_sweep_leaves_a_letter_as_any_other_burial_does(store, worker, clock, on_lost):
    store.tasks.publish(Definition("a", Terms(), losses=1))
    (task,) = submit(store, "k", on_lost=on_lost)
    claim_one(store, worker)
    clock.advance(30)
    sweep(store)
    letter = only_letter(store)
    assert (letter.task_id, letter.epoch, letter.attempts, letter.error_class) == (task, 1, 1, "WORKER_CRASHED")
    assert (letter.state, letter.first_failure_at, letter.last_failure_at) == ("open", clock.now, clock.now)
    assert revive(store, letter).epoch == 2


def test_a_task_that_ends_well_leaves_none(store, worker):
    submit(store, "k")
    finish(store, [claim_one(store, worker)])
    assert letters(store) == []
    assert store.deadletters.count() == (0, 0)


def test_only_the_task_that_failed_leaves_one_not_its_group_its_job_or_what_waited(store, worker):
    film = pipeline(store, "k", stage("script"), stage("audio", "script", each="scenes"), stage("end", "audio"))
    run(store, worker, routes_of("script"), {"scenes": [1, 2, 3]})
    leases = claim(store, worker, routes=routes_of("audio"))
    finish(store, leases[:2])
    bury(store, leases[2:])
    letter = only_letter(store)
    assert (letter.job_id, letter.stage, letter.segment) == (film.id, "audio", 2)
    assert status(store, film.id) == "ERROR"


def test_letters_are_listed_newest_first_and_filtered_and_paged(store, worker):
    made = [buried_job(store, worker, str(number)) for number in range(3)]
    made.append(buried_job(store, worker, "other", Failure("NOT_FOUND", "gone")))
    ids = [letter.id for letter in made]

    def found(most=50, **which):
        return [letter.id for letter in store.deadletters.list(LetterFilter(**which), most)]

    assert found() == ids[::-1]
    assert found(error_class="NOT_FOUND") == [ids[3]]
    assert found(kind="a", state="open", before=ids[3], most=2) == [ids[2], ids[1]]
    assert found(kind="b") == found(stage="x") == found(state="resolved") == found(escalated=True) == []
    assert found(escalated=False) == ids[::-1]
    assert store.deadletters.count() == (4, 0)


def test_a_letter_that_is_not_there_is_unknown_to_every_action(store):
    for act in (
        lambda: store.deadletters.get(7),
        lambda: store.deadletters.evidence(7, "ada", REMEDY),
        lambda: store.deadletters.revive(7, "ada"),
        lambda: store.deadletters.resolve(7, "ada", "fine"),
        lambda: store.deadletters.answer(7, "key", "ada", None),
    ):
        with pytest.raises(LetterUnknown):
            act()
    assert look(store, "SELECT count(*) FROM audit") == [(0,)]


def test_a_letter_without_evidence_is_not_revived_and_nothing_changes(store, worker):
    letter = buried_job(store, worker)
    before = check_everything(store)
    with pytest.raises(EvidenceMissing):
        store.deadletters.revive(letter.id, "ada")
    assert letters(store) == [letter]
    assert status(store, letter.job_id) == "ERROR"
    assert check_everything(store, before) == before
    assert actions_on(store, letter) == []


def test_evidence_of_an_earlier_burial_does_not_count_for_a_later_one(store, worker):
    revive(store, buried_job(store, worker))
    bury(store, [claim_one(store, worker)])
    with pytest.raises(EvidenceMissing):
        store.deadletters.revive(only_letter(store, state="open").id, "ada")


def test_failing_again_with_the_same_final_class_is_escalated_and_both_histories_are_kept(store, worker):
    """S5: a new burial is a new entry, and the first one still shows what was done about it."""
    first = buried_job(store, worker)
    revive(store, first)
    bury(store, [claim_one(store, worker)])
    one, two = store.deadletters.of(first.job_id, first.task_id)
    assert (one.state, one.epoch, one.escalated) == ("revived", 1, False)
    assert (two.state, two.epoch, two.escalated) == ("open", 2, True)
    assert [action for _, action, _ in actions_on(store, one)] == ["evidence", "revive"]
    assert actions_on(store, two) == []
    assert store.deadletters.count() == (1, 1)


@pytest.mark.parametrize("failure", [Failure("NOT_FOUND", "gone"), Failure("AUTH_DENIED", "busy", retryable=True)])
def test_failing_again_in_another_way_is_not_escalated(store, worker, failure):
    revive(store, buried_job(store, worker))
    bury(store, [claim_one(store, worker)], failure)
    assert not only_letter(store, state="open").escalated


def test_a_letter_is_resolved_only_after_its_job_ended_well(store, worker):
    letter = buried_job(store, worker)
    with pytest.raises(LetterOpen):
        store.deadletters.resolve(letter.id, "ada", "fine")
    revive(store, letter)
    with pytest.raises(JobUnfinished, match="under way"):
        store.deadletters.resolve(letter.id, "ada", "fine")
    finish(store, [claim_one(store, worker)])
    store.deadletters.resolve(letter.id, "grace", "it was the key")
    assert only_letter(store).state == "resolved"
    assert actions_on(store, letter)[-1] == ("grace", "resolve", {"notes": "it was the key"})
    with pytest.raises(LetterRevived):
        store.deadletters.resolve(letter.id, "grace", "again")
    with pytest.raises(LetterRevived):
        store.deadletters.evidence(letter.id, "grace", REMEDY)


def test_a_letter_whose_job_failed_again_is_not_resolved(store, worker):
    letter = buried_job(store, worker)
    revive(store, letter)
    bury(store, [claim_one(store, worker)])
    with pytest.raises(JobUnfinished, match="ERROR"):
        store.deadletters.resolve(letter.id, "ada", "fine")


def test_an_effect_in_doubt_must_be_answered_before_its_task_is_revived(store, worker):
    """S14: what may have happened is not repeated blindly; the answer and its line in the trail come together."""
    submit(store, "k")
    lease = claim_one(store, worker)
    intent = intend(lease, "SEND", {"to": "bob"}, 1)
    store.effects.enter([intent], [])
    bury(store, [lease], IN_DOUBT)
    letter = only_letter(store)
    store.deadletters.evidence(letter.id, "ada", REMEDY)
    with pytest.raises(EffectUnanswered):
        store.deadletters.revive(letter.id, "ada")
    with pytest.raises(EffectSettled):
        store.deadletters.answer(letter.id, "f" * 64, "ada", None)
    store.deadletters.answer(letter.id, intent.key, "ada", '{"id":"m-17"}')
    store.deadletters.revive(letter.id, "ada")
    assert actions_on(store, letter)[1] == ("ada", "answer", {"effect": intent.key, "happened": True})
    assert [action for _, action, _ in actions_on(store, letter)] == ["evidence", "answer", "revive"]
    again = claim_one(store, worker)
    (entry,) = store.effects.enter([intend(again, "SEND", {"to": "bob"}, 1)], [])
    assert (entry.verdict, entry.result) == ("done", '{"id":"m-17"}')


def test_an_effect_that_did_not_happen_is_done_again_after_the_revival(store, worker):
    submit(store, "k")
    lease = claim_one(store, worker)
    intent = intend(lease, "SEND", {}, 1)
    store.effects.enter([intent], [])
    bury(store, [lease], IN_DOUBT)
    letter = only_letter(store)
    store.deadletters.answer(letter.id, intent.key, "ada", None)
    revive(store, letter)
    (entry,) = store.effects.enter([intend(claim_one(store, worker), "SEND", {}, 1)], [])
    assert entry.verdict == "act"
    with pytest.raises(EffectSettled):
        store.deadletters.answer(letter.id, intent.key, "ada", '"late"')


def test_every_action_of_every_principal_is_on_the_trail(store, worker):
    """S17: who did what, in order, whatever came of it."""
    letter = buried_job(store, worker)
    store.deadletters.evidence(letter.id, "ada", REMEDY)
    done = store.deadletters.revive(letter.id, "bob")
    finish(store, [claim_one(store, worker)])
    store.deadletters.resolve(letter.id, "cid", "fine")
    assert [(who, action) for who, action, _ in actions_on(store, letter)] == [
        ("ada", "evidence"),
        ("bob", "revive"),
        ("cid", "resolve"),
    ]
    assert actions_on(store, letter)[1][2]["did"]["epoch"] == done.epoch == 2
    (line,) = [event for event in store.reports.events(letter.job_id) if event.name == "revived"]
    assert json.loads(line.detail) == {"epoch": 2, "letter": letter.id, "principal": "bob"}


def test_a_stage_that_cannot_fan_out_leaves_a_letter_and_a_revival_buries_it_again(store, worker):
    film = pipeline(store, "k", stage("script"), stage("audio", "script", each="scenes"), stage("end", "audio"))
    run(store, worker, routes_of("script"), {"scenes": "none"})
    letter = only_letter(store)
    assert (letter.stage, letter.error_class, letter.attempts) == ("audio", "EACH_INVALID", 0)
    revive(store, letter)
    advance(store)
    again = only_letter(store, state="open")
    assert (again.epoch, again.escalated) == (2, True)
    assert status(store, film.id) == "ERROR"
    assert DENIED.error_class != again.error_class
    check_everything(store)


def test_a_start_from_the_beginning_closes_the_letters_of_the_other_stages_too(store, worker):
    """S13: what they named is being done again already."""
    pipeline(store, "k", stage("one"), stage("two"))
    bury(store, claim(store, worker, routes=routes_of("one", "two")))
    first, second = letters(store, state="open")
    revive(store, second, from_start=True)
    assert [letter.state for letter in letters(store)] == ["revived", "revived"]
    with pytest.raises(LetterRevived):
        store.deadletters.revive(first.id, "ada")
