"""A job that starts again: every stage runs again, segments are made again, and what they once were is kept."""

import pytest

from leasehold.errors import JobUnfinished, LetterRevived
from leasehold.model.effect import intend
from leasehold.model.failure.failure import Failure
from tests.store.deadletters.buried_tasks import (
    FILM,
    SCENES,
    bury,
    film_with_a_failed_segment,
    letters,
    only_letter,
    revive,
    run,
)
from tests.store.model.invariants import check_everything
from tests.store.work import advance, claim, finish, pipeline, routes_of, stage, status, statuses


def test_a_restart_runs_every_stage_again_and_the_old_segments_stand_nowhere(store, worker):
    """S5: what they once were is kept, under the epochs in which it was so."""
    film = film_with_a_failed_segment(store, worker)
    before = check_everything(store)
    done_ = revive(store, only_letter(store), from_start=True)
    assert (done_.task_id, done_.epoch) == (film, 2)
    assert statuses(store, film) == {
        (None, None): "NEW",
        ("script", None): "READY",
        ("audio", None): "NEW",
        ("render", None): "NEW",
    }
    check_everything(store, before)
    run(store, worker, routes_of("script"), {"scenes": ["new", "ones"]})
    for lease in claim(store, worker, routes=routes_of("audio")):
        finish(store, [lease], f"sound {lease.segment}")
    advance(store)
    (render,) = claim(store, worker, routes=routes_of("render"))
    assert store.stages.inputs(render.task_id) == {"audio": ["sound 0", "sound 1"]}
    finish(store, [render], "film")
    advance(store)
    assert status(store, film) == "DONE"
    assert store.stages.outputs(film) == {"render": "film"}
    assert store.deadletters.segments(film) == {"audio": {"DONE": 2}}
    check_everything(store, before)


def test_a_segment_that_fails_again_after_a_restart_is_escalated_with_both_histories(store, worker):
    """S5: it is made again, but it stands in the place of the one that failed; its neighbour does not."""
    film = film_with_a_failed_segment(store, worker)
    first = only_letter(store)
    revive(store, first, from_start=True)
    run(store, worker, routes_of("script"), SCENES)
    bury(store, claim(store, worker, routes=routes_of("audio")))
    again = {letter.segment: letter for letter in letters(store, state="open")}
    assert {number: letter.escalated for number, letter in again.items()} == {
        number: number == first.segment for number in range(len(again))
    }
    assert len(again) > 1
    twice = again[first.segment]
    assert twice.task_id != first.task_id
    assert store.deadletters.of(film, twice.task_id) == [only_letter(store, state="revived"), twice]
    assert [letter.id for letter in store.deadletters.of(film, first.task_id)] == [first.id, twice.id]


def test_a_restart_takes_every_open_letter_of_the_job_with_it(store, worker):
    film = pipeline(store, "k", *FILM).id
    run(store, worker, routes_of("script"), SCENES)
    bury(store, claim(store, worker, routes=routes_of("audio")))
    first, *others = letters(store)
    revive(store, first, from_start=True)
    assert {letter.state for letter in letters(store)} == {"revived"}
    for letter in others:
        with pytest.raises(LetterRevived):
            store.deadletters.revive(letter.id, "bob")
    run(store, worker, routes_of("script"), {"scenes": []})
    run(store, worker, routes_of("render"))
    assert (status(store, film), store.stages.outputs(film)) == ("DONE", {"render": None})
    check_everything(store)


def test_a_job_of_which_something_still_runs_is_not_restarted(store, worker):
    pipeline(store, "k", stage("one"), stage("two"))
    one, _ = claim(store, worker, routes=routes_of("one", "two"))
    bury(store, [one])
    with pytest.raises(JobUnfinished):
        revive(store, only_letter(store), from_start=True)
    assert only_letter(store).state == "open"
    revive(store, only_letter(store))


def test_a_new_segment_does_not_take_the_intent_of_an_old_one_for_its_own(store, worker):
    """S14: both are claimed for the first time, and only the old one knows whether it acted."""
    film = pipeline(store, "k", *FILM).id
    run(store, worker, routes_of("script"), {"scenes": [1]})
    (old,) = claim(store, worker, routes=routes_of("audio"))
    store.effects.enter([intend(old, "SEND", {}, 1)], [])
    bury(store, [old])
    revive(store, only_letter(store), from_start=True)
    run(store, worker, routes_of("script"), {"scenes": [1]})
    (new,) = claim(store, worker, routes=routes_of("audio"))
    assert (new.fence, old.fence) == (1, 1)
    (entry,) = store.effects.enter([intend(new, "SEND", {}, 1)], [])
    assert entry.verdict == "doubt"
    bury(store, [new], Failure("EFFECT_IN_DOUBT", "who knows"))
    letter = only_letter(store, state="open")
    assert letter.unanswered == 1
    store.deadletters.answer(letter.id, entry.key, "ada", '"sent"')
    assert only_letter(store, state="open").unanswered == 0
    assert status(store, film) == "ERROR"
