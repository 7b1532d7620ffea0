"""Helpers of the tests of dead letters: tasks that fail for good, and letters that are revived."""

from collections.abc import Sequence

from leasehold.model.failure.failure import Failure
from leasehold.model.lease import Lease, failed
from leasehold.store import Store
from leasehold.store.deadletters import LetterFilter, LetterRow, Revived
from tests.store.work import advance, claim, claim_one, finish, pipeline, routes_of, stage, submit

REMEDY = {"text": "the key was rotated"}
DENIED = Failure("AUTH_DENIED", "the key is hunter2", stack="Traceback of the failure")
FILM = (stage("script"), stage("audio", "script", each="scenes"), stage("render", "audio"))
SCENES = {"scenes": [1, 2, 3]}


def bury(store: Store, leases: Sequence[Lease], failure: Failure = DENIED) -> None:
    """Have attempts fail for good, and an orchestrator look at it."""
    store.leases.settle([failed(lease, failure) for lease in leases])
    advance(store)


def run(store: Store, worker: int, routes: Sequence[str], output: object = None) -> int:
    """Have what is ready of these routes end well, until nothing is left; return how many attempts that took."""
    attempts = 0
    while leases := claim(store, worker, routes=routes):
        finish(store, leases, output)
        advance(store)
        attempts += len(leases)
    return attempts


def letters(store: Store, **which) -> list[LetterRow]:
    """List letters, oldest first."""
    return store.deadletters.list(LetterFilter(**which), 1_000)[::-1]


def only_letter(store: Store, **which) -> LetterRow:
    (letter,) = letters(store, **which)
    return letter


def revive(store: Store, letter: LetterRow, **options) -> Revived:
    """Write evidence and revive."""
    store.deadletters.evidence(letter.id, "ada", REMEDY)
    return store.deadletters.revive(letter.id, "ada", **options)


def buried_job(store: Store, worker: int, key: str = "k", failure: Failure = DENIED) -> LetterRow:
    """A plain job that failed for good, as its open letter."""
    (task,) = submit(store, key)
    bury(store, [claim_one(store, worker)], failure)
    return next(letter for letter in letters(store, state="open") if letter.task_id == task)


def film_with_a_failed_segment(store: Store, worker: int) -> int:
    """A pipeline's job of which one segment failed for good and the others ended well."""
    film = pipeline(store, "k", *FILM)
    run(store, worker, routes_of("script"), SCENES)
    leases = claim(store, worker, routes=routes_of("audio"))
    finish(store, [lease for lease in leases if lease.segment != 1], "sound")
    bury(store, [lease for lease in leases if lease.segment == 1])
    return film.id
